"""POST /api/external/appointments: the rules of each field (docs/interface.md, G5, G12 to G18, G21 and A9)."""

import pytest

from tests.contract.assertions import assert_invalid_fields
from tests.factories import snapshot_of

PATH = "/api/external/appointments"
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
TEXT_FIELDS = [
    "external_reference",
    "event_type_name",
    "lead_first_name",
    "lead_last_name",
    "lead_phone",
    "meeting_url",
    "notes",
]
EMAIL_FIELDS = ["lead_email", "host_email", "setter_email", "triager_email"]
ID_FIELDS = ["lead_id", "event_type_id"]
REQUIRED_FIELDS = ["external_reference", "schedule_time", "lead_email", "event_type_name"]
OPTIONAL_FIELDS = [
    *ID_FIELDS,
    "lead_first_name",
    "lead_last_name",
    "lead_phone",
    *EMAIL_FIELDS[1:],
    "meeting_url",
    "notes",
]
# Every JSON type except string and null.
OTHER_TYPES = [5, 1.5, True, False, ["a"], {"a": "b"}]
# `...` leaves the field out of the body.
BLANK = [pytest.param(..., id="missing"), pytest.param(None, id="null"), pytest.param("", id="empty")]


@pytest.mark.parametrize("blank", BLANK)
@pytest.mark.parametrize("field", REQUIRED_FIELDS)
def test_required_fields(api, organization, field, blank):
    """docs/interface.md, A9, G13"""
    before = snapshot_of(organization)

    response = api.book(**{field: blank})

    message = response.json()["message"]
    assert response.status_code == 400
    assert response.json() == {"status": "error", "message": message, "errors": {field: [message]}}
    assert message.startswith(f"{field} is required")
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("blank", BLANK[1:])
@pytest.mark.parametrize("field", OPTIONAL_FIELDS)
def test_a_blank_optional_field_counts_as_absent(api, field, blank):
    """docs/interface.md, G13"""
    response = api.book(**{field: blank})

    assert response.status_code == 201
    appointment = api.get_appointment(response.json()["data"]["id"])
    assert [appointment[name] for name in ["host", "setter", "triager", "meeting_url"]] == [None] * 4
    assert [appointment["lead"][name] for name in ["first_name", "last_name", "phone_e164"]] == ["ada", "", None]
    assert api.get_data(PATH)[0]["notes"] is None


@pytest.mark.parametrize("field", [*TEXT_FIELDS, *EMAIL_FIELDS, *ID_FIELDS, "schedule_time"])
def test_a_field_of_another_json_type_is_400(api, organization, field):
    """docs/interface.md, G12"""
    before = snapshot_of(organization)

    for value in OTHER_TYPES:
        assert_invalid_fields(api.book(**{field: value}), field)

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("field", ["external_reference", "event_type_name", "lead_first_name", "lead_last_name"])
def test_names_and_references_have_at_most_255_characters(api, organization, field):
    """docs/interface.md, G15"""
    before = snapshot_of(organization)

    # The limit counts characters: "é" takes two bytes in UTF-8.
    assert_invalid_fields(api.book(**{field: "é" * 256}), field)

    assert snapshot_of(organization) == before
    assert api.book(**{field: "é" * 255}).status_code == 201


def test_notes_have_at_most_10_000_characters(api, organization):
    """docs/interface.md, G15"""
    before = snapshot_of(organization)

    assert_invalid_fields(api.book(notes="é" * 10_001), "notes")

    assert snapshot_of(organization) == before
    assert api.book(notes="é" * 10_000).status_code == 201
    assert api.get_data(PATH)[0]["notes"]["note"] == "é" * 10_000


def test_meeting_url_has_at_most_2_048_characters(api, organization):
    """docs/interface.md, G15"""
    url = "https://meet.example/".ljust(2048, "a")
    before = snapshot_of(organization)

    assert_invalid_fields(api.book(meeting_url=f"{url}a"), "meeting_url")

    assert snapshot_of(organization) == before
    assert api.get_appointment(api.book(meeting_url=url).json()["data"]["id"])["meeting_url"] == url


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "ftp://meet.example/a",
        "data:text/html,x",
        "//meet.example",
        "/a",
        "meet.example/a",
        "nonsense",
        "http://",
        "https:/meet.example",
    ],
)
def test_a_meeting_url_that_is_not_http_is_400(api, organization, url):
    """docs/interface.md, G18"""
    before = snapshot_of(organization)

    assert_invalid_fields(api.book(meeting_url=url), "meeting_url")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    "url",
    [
        "http://meet.example",
        "https://meet.example/a?b=c#d",
        "https://meet.example:8443/j/1",
        "https://user-1.meet.example/%20",
        "http://10.0.0.1/call",
    ],
)
def test_an_http_url_is_stored_unchanged(api, url):
    """docs/interface.md, G18"""
    assert api.get_appointment(api.book(meeting_url=url).json()["data"]["id"])["meeting_url"] == url


@pytest.mark.parametrize(
    "value",
    [
        "ada",
        "ada@",
        "@example.com",
        "ada@example",
        "ada@@example.com",
        "ada b@example.com",
        "a" * 250 + "@example.com",
        "ada@exa mple.com",
    ],
)
def test_a_malformed_email_is_400(api, organization, value):
    """docs/interface.md, G17"""
    before = snapshot_of(organization)

    assert_invalid_fields(api.book(lead_email=value), "lead_email")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    "value", ["5", "nonsense", UNKNOWN_ID, UNKNOWN_ID[:-1], f"{UNKNOWN_ID}0", "user_abcdefghijklmnopqrstuvwx"]
)
@pytest.mark.parametrize("field", ID_FIELDS)
def test_a_malformed_or_unknown_id_is_400(api, organization, field, value):
    """docs/interface.md, G21"""
    before = snapshot_of(organization)

    assert_invalid_fields(api.book(**{field: value}), field)

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("field", ID_FIELDS)
def test_another_organizations_id_is_400_like_an_unknown_one(api, other_api, organization, other_organization, field):
    """docs/interface.md, G21, G22"""
    other_appointment = other_api.get_appointment(other_api.book().json()["data"]["id"])
    id = {
        "lead_id": other_appointment["lead"]["id"],
        "event_type_id": other_appointment["appointment_event_type"]["id"],
    }[field]
    before = snapshot_of(organization), snapshot_of(other_organization)

    # The responses must not tell whether the id exists elsewhere.
    response, response_to_unknown = api.book(**{field: id}), api.book(**{field: UNKNOWN_ID})

    assert_invalid_fields(response, field)
    assert response.json() == response_to_unknown.json()
    assert (snapshot_of(organization), snapshot_of(other_organization)) == before


def test_every_invalid_field_is_named(api, organization):
    """docs/interface.md, G5"""
    before = snapshot_of(organization)

    response = api.book(
        external_reference=5, schedule_time="soon", lead_email="ada", meeting_url="nonsense", lead_id="x", notes=[]
    )

    assert_invalid_fields(
        response, "external_reference", "schedule_time", "lead_email", "meeting_url", "lead_id", "notes"
    )
    assert response.json()["message"].startswith("external_reference ")
    assert snapshot_of(organization) == before


def test_an_empty_body_names_every_required_field(api):
    """docs/interface.md, G5"""
    response = api.post(PATH, {})

    assert_invalid_fields(response, *REQUIRED_FIELDS)
    assert response.json()["message"] == "external_reference is required"


def test_unknown_fields_are_ignored(api, organization):
    """docs/interface.md, G14"""
    response = api.book(
        id=UNKNOWN_ID,
        source="SCHEDULER_A",
        call_category="COACHING_CALL",
        organization="x",
        no_show=True,
        custom={"a": [1, None]},
    )

    appointment = api.get_appointment(response.json()["data"]["id"])
    assert response.status_code == 201
    assert appointment["id"] != UNKNOWN_ID
    assert [appointment[name] for name in ["source", "call_category", "no_show"]] == ["MANUAL", "SALES_CALL", False]


def test_texts_are_stored_exactly_as_sent(api):
    """docs/interface.md, G15"""
    text = "Zoë “Łukasz” 李 🎉 <b>&amp;</b> '; DROP TABLE leads; -- {{7*7}} %s"

    response = api.book(
        external_reference=text, event_type_name=text, lead_first_name=text, lead_last_name=text, notes=text
    )

    appointment = api.get_data(PATH)[0]
    assert response.status_code == 201
    assert [appointment["external_reference"], appointment["appointment_type"], appointment["notes"]["note"]] == [
        text
    ] * 3
    assert [appointment["lead"]["first_name"], appointment["lead"]["last_name"]] == [text] * 2
