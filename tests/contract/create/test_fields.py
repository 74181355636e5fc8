"""POST /api/external/appointments: each field's rule in interface 4.1, with decisions 2, 3 and 5."""

import pytest

from tests.client import booking_payload
from tests.contract.assertions import assert_invalid_fields
from tests.factories import snapshot_of

PATH = "/api/external/appointments"
UNKNOWN = "00000000-0000-7000-8000-000000000000"
TEXTS = [
    "external_reference",
    "event_type_name",
    "lead_first_name",
    "lead_last_name",
    "lead_phone",
    "meeting_url",
    "notes",
]
EMAILS = ["lead_email", "host_email", "setter_email", "triager_email"]
IDS = ["lead_id", "event_type_id"]
REQUIRED = ["external_reference", "schedule_time", "lead_email", "event_type_name"]
OPTIONAL = [*IDS, "lead_first_name", "lead_last_name", "lead_phone", *EMAILS[1:], "meeting_url", "notes"]
NOT_TEXT = [5, 1.5, True, False, ["a"], {"a": "b"}]
NOTHING = [pytest.param(..., id="missing"), pytest.param(None, id="null"), pytest.param("", id="empty")]


@pytest.mark.parametrize("nothing", NOTHING)
@pytest.mark.parametrize("field", REQUIRED)
def test_create_rule_4_a_required_field_given_as_nothing_is_required(api, organization, field, nothing):
    before = snapshot_of(organization)

    answer = api.book(**{field: nothing})

    sentence = answer.json()["message"]
    assert answer.status_code == 400
    assert answer.json() == {"status": "error", "message": sentence, "errors": {field: [sentence]}}
    assert sentence.startswith(f"{field} is required")
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("nothing", NOTHING[1:])
@pytest.mark.parametrize("field", OPTIONAL)
def test_decision_3_an_optional_field_given_as_nothing_is_absent(api, field, nothing):
    answer = api.book(**{field: nothing})

    assert answer.status_code == 201
    shown = api.get_appointment(answer.json()["data"]["id"])
    assert [shown["host"], shown["setter"], shown["triager"], shown["meeting_url"]] == [None] * 4
    assert (shown["lead"]["first_name"], shown["lead"]["last_name"], shown["lead"]["phone_e164"]) == ("ada", "", None)
    assert api.get_data(PATH)[0]["notes"] is None


@pytest.mark.parametrize("field", [*TEXTS, *EMAILS, *IDS, "schedule_time"])
def test_decision_3_a_field_of_another_json_type_is_400(api, organization, field):
    before = snapshot_of(organization)

    for value in NOT_TEXT:
        assert_invalid_fields(api.book(**{field: value}), field)

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("field", ["external_reference", "event_type_name", "lead_first_name", "lead_last_name"])
def test_decision_3_names_and_references_have_at_most_255_characters(api, organization, field):
    before = snapshot_of(organization)

    assert_invalid_fields(api.book(**{field: "é" * 256}), field)

    assert snapshot_of(organization) == before
    assert api.book(**{field: "é" * 255}).status_code == 201


def test_decision_3_notes_have_at_most_10_000_characters(api, organization):
    before = snapshot_of(organization)

    assert_invalid_fields(api.book(notes="é" * 10_001), "notes")

    assert snapshot_of(organization) == before
    assert api.book(notes="é" * 10_000).status_code == 201
    assert api.get_data(PATH)[0]["notes"]["note"] == "é" * 10_000


def test_decision_3_urls_have_at_most_2_048_characters(api, organization):
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
def test_decision_3_a_url_that_is_not_http_is_400(api, organization, url):
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
    ],
)
def test_decision_3_an_http_url_is_kept_as_it_is(api, url):
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
def test_create_rule_4_a_malformed_email_is_400(api, organization, value):
    before = snapshot_of(organization)

    assert_invalid_fields(api.book(lead_email=value), "lead_email")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    "value", ["5", "nonsense", UNKNOWN, UNKNOWN[:-1], f"{UNKNOWN}0", "user_abcdefghijklmnopqrstuvwx"]
)
@pytest.mark.parametrize("field", IDS)
def test_decision_5_a_malformed_or_unknown_id_is_400(api, organization, field, value):
    before = snapshot_of(organization)

    assert_invalid_fields(api.book(**{field: value}), field)

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("field", IDS)
def test_decision_5_another_organizations_id_is_an_unknown_one(api, other_api, organization, other_organization, field):
    theirs = other_api.get_appointment(other_api.book().json()["data"]["id"])
    id = {"lead_id": theirs["lead"]["id"], "event_type_id": theirs["appointment_event_type"]["id"]}[field]
    before = snapshot_of(organization), snapshot_of(other_organization)

    answer, unknown = api.book(**{field: id}), api.book(**{field: UNKNOWN})

    assert_invalid_fields(answer, field)
    assert answer.json() == unknown.json()
    assert (snapshot_of(organization), snapshot_of(other_organization)) == before


def test_decision_2_every_bad_field_is_named(api, organization):
    before = snapshot_of(organization)

    answer = api.book(
        external_reference=5, schedule_time="soon", lead_email="ada", meeting_url="nonsense", lead_id="x", notes=[]
    )

    assert_invalid_fields(
        answer, "external_reference", "schedule_time", "lead_email", "meeting_url", "lead_id", "notes"
    )
    assert answer.json()["message"].startswith("external_reference ")
    assert snapshot_of(organization) == before


def test_decision_2_an_empty_body_names_every_required_field(api):
    answer = api.post(PATH, {})

    assert_invalid_fields(answer, *REQUIRED)
    assert answer.json()["message"] == "external_reference is required"


def test_decision_3_unknown_fields_are_ignored(api, organization):
    answer = api.book(
        id=UNKNOWN,
        source="SCHEDULER_A",
        call_category="COACHING_CALL",
        organization="x",
        no_show=True,
        custom={"a": [1, None]},
    )

    shown = api.get_appointment(answer.json()["data"]["id"])
    assert answer.status_code == 201
    assert (shown["id"] != UNKNOWN, shown["source"], shown["call_category"], shown["no_show"]) == (
        True,
        "MANUAL",
        "SALES_CALL",
        False,
    )


def test_create_every_text_is_kept_as_it_was_sent(api):
    text = "Zoë “Łukasz” 李 🎉 <b>&amp;</b> '; DROP TABLE leads; -- {{7*7}} %s"

    answer = api.post(
        PATH,
        booking_payload(
            external_reference=text, event_type_name=text, lead_first_name=text, lead_last_name=text, notes=text
        ),
    )

    shown = api.get_data(PATH)[0]
    assert answer.status_code == 201
    assert [shown["external_reference"], shown["appointment_type"], shown["notes"]["note"]] == [text] * 3
    assert [shown["lead"]["first_name"], shown["lead"]["last_name"]] == [text] * 2
