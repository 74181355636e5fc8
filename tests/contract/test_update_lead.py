"""Changes of a lead through the API (docs/interface.md, L28 and L29, G47 and G48)."""

from typing import Any
from uuid import UUID

import pytest

from leads.merging import merge_leads
from leads.models import Lead
from leads.privacy.erasing import request_erasure
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership
from tests.client import ApiClient
from tests.contract.assertions import assert_error, assert_invalid_fields
from tests.contract.concurrency import run_concurrently, status_codes
from tests.factories import make_api, make_custom_field, make_member, snapshot_of

PATH = "/api/external/leads"
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
OLD_VERSION = '"2020-01-05T10:00:00.000Z"'
PHONE = {"phone_e164": "+442079460000", "phone_country": "GB"}


@pytest.fixture
def id(api: ApiClient, host: Membership) -> str:
    """A lead with all values."""
    response = api.submit(last_name="Byron", traffic={"utm_content": host.user_id}, **PHONE)
    return str(response.json()["data"]["lead_id"])


def update(api: ApiClient, id: str, /, *, if_match: str | None = None, **changes: Any) -> Any:
    headers = {} if if_match is None else {"if_match": if_match}
    return api.patch(f"{PATH}/{id}", changes, **headers)


def test_an_update_changes_the_fields_and_returns_the_detail(api, organization, id):
    """L28"""
    make_member(organization, "olga@acme.example")
    make_custom_field(organization, "LEAD", "size", type="NUMBER")

    response = update(
        api,
        id,
        first_name=" Augusta ",
        last_name="Lovelace",
        phone_e164="+14155552671",
        phone_country="ca",
        setter_email="olga@acme.example",
        custom_fields={"size": 25},
    )

    data = response.json()["data"]
    assert response.status_code == 200
    assert response.json() == {"status": "success", "message": "Lead updated", "data": data}
    assert data == api.get_lead(id)
    assert (data["first_name"], data["last_name"], data["setter"]["email"]) == (
        "Augusta",
        "Lovelace",
        "olga@acme.example",
    )
    assert (data["phone_e164"], data["phone_country"]) == ("+14155552671", "CA")
    assert [field["value"] for field in data["custom_fields"]] == [25]


@pytest.mark.django_db(transaction=True)
def test_an_update_is_one_event_by_the_key(api, id):
    """L19, L28"""
    seen, before = len(api.list_events()), api.get_lead(id)

    data = update(api, id, last_name="Lovelace", setter_email=None).json()["data"]

    (event,) = api.list_events()[seen:]
    assert (event["type"], event["data"], event["actor"]["kind"]) == ("lead.updated", data, "API_KEY")
    assert event["previous"] == {"last_name": "Byron", "setter": before["setter"]}
    assert data["updated_at"] > before["updated_at"]


@pytest.mark.parametrize("changes", [{}, {"last_name": "Byron"}, {"setter_email": "HANA@acme.example"}, PHONE])
def test_an_update_that_changes_nothing_records_nothing(api, organization, id, changes):
    """L28"""
    before = snapshot_of(organization)

    response = update(api, id, **changes)

    assert (response.status_code, response.json()["data"]) == (200, api.get_lead(id))
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("blank", [None, "", " "])
def test_a_blank_value_clears_and_an_absent_one_keeps(api, id, blank):
    """G47"""
    cleared = update(api, id, last_name=blank, setter_email=blank).json()["data"]
    assert (cleared["last_name"], cleared["setter"]) == ("", None)
    assert (cleared["first_name"], cleared["phone_e164"]) == ("Ada", "+442079460000")

    without_phone = update(api, id, phone_e164=blank).json()["data"]
    assert (without_phone["phone_e164"], without_phone["phone_country"]) == (None, None)
    assert update(api, id, phone_e164=blank, phone_country=blank).status_code == 200


@pytest.mark.parametrize("field", ["first_name", "custom_fields"])
@pytest.mark.parametrize("blank", [None, "", " "])
def test_what_cannot_be_cleared_is_400(api, organization, id, field, blank):
    """L28"""
    before = snapshot_of(organization)

    response = update(api, id, last_name=None, **{field: blank})

    assert_invalid_fields(response, field)
    assert response.json()["message"] == f"{field} can't be cleared"
    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        ({"phone_e164": "+14155552671"}, "phone_country", "is required when phone_e164 is given"),
        (
            {"phone_e164": "+14155552671", "phone_country": None},
            "phone_country",
            "is required when phone_e164 is given",
        ),
        ({"phone_country": "US"}, "phone_country", "must be sent together with phone_e164"),
        ({"phone_country": None}, "phone_country", "must be sent together with phone_e164"),
        ({"phone_e164": "+14155552671", "phone_country": "GB"}, "phone_country", "must be a country of phone_e164"),
        (
            {"phone_e164": None, "phone_country": "XX"},
            "phone_country",
            "must be an ISO 3166-1 alpha-2 country code",
        ),
        (
            {"phone_e164": "4155552671", "phone_country": "US"},
            "phone_e164",
            "must be a phone number in E.164 form, such as +14155552671",
        ),
    ],
)
def test_an_invalid_phone_is_400(api, organization, id, changes, field, problem):
    """L8, L28"""
    before = snapshot_of(organization)

    response = update(api, id, last_name="Lovelace", **changes)

    assert_invalid_fields(response, field)
    assert response.json()["message"] == f"{field} {problem}"
    assert snapshot_of(organization) == before


def test_a_first_name_that_was_entered_is_a_known_value(api):
    """L5: an opt-in replaces the part of the e-mail before the @, but no name that was sent here."""
    appointment = api.get_appointment(api.book().json()["data"]["id"])
    update(api, appointment["lead"]["id"], first_name="ada")

    api.submit(first_name="Grace")

    assert api.get_lead(appointment["lead"]["id"])["first_name"] == "ada"


def test_an_email_that_cannot_be_named_is_400(api, other_organization, organization, id):
    """L28, M2"""
    make_member(organization, "vera@acme.example", role=MemberRole.VIEWER)
    make_member(other_organization, "sol@globex.example")
    before = snapshot_of(organization)

    for email in ["vera@acme.example", "sol@globex.example", "nobody@acme.example"]:
        assert_invalid_fields(update(api, id, setter_email=email, last_name=None), "setter_email")

    assert snapshot_of(organization) == before


def test_custom_values_are_those_of_leads(api, organization, id):
    """A36, L28"""
    make_custom_field(organization, "LEAD", "size", type="NUMBER")
    make_custom_field(organization, "APPOINTMENT", "color")
    before = snapshot_of(organization)

    response = update(api, id, custom_fields={"color": "blue", "size": "large"})

    assert_invalid_fields(response, "custom_fields.color", "custom_fields.size")
    assert snapshot_of(organization) == before


def test_fields_that_are_not_listed_are_ignored(api, organization, id):
    """G14"""
    before = snapshot_of(organization)

    response = update(api, id, email="grace@example.com", status_id=UNKNOWN_ID, next_step_note="Call")

    assert (response.status_code, snapshot_of(organization)) == (200, before)


def test_the_id_of_a_merged_lead_changes_the_kept_one(api, organization, id):
    """L22"""
    kept = api.submit(email="grace@example.com").json()["data"]["lead_id"]
    leads = {str(lead.pk): lead.pk for lead in Lead.objects.of(organization)}
    merge_leads(organization=organization, actor=SYSTEM, keep=leads[kept], merge=leads[id], values=[])

    data = update(api, id, last_name="Lovelace").json()["data"]

    assert (data["id"], api.get_lead(kept)["last_name"]) == (kept, "Lovelace")


def test_an_erased_lead_is_409(api, organization, id):
    """L20, L28"""
    request_erasure(organization=organization, actor=SYSTEM, lead_id=UUID(id))
    before = snapshot_of(organization)

    assert_error(update(api, id, last_name="Byron"), 409, "The lead was erased")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("unknown", [UNKNOWN_ID, "x"])
def test_an_unknown_lead_is_404(api, unknown):
    """L18"""
    assert_error(update(api, unknown, last_name=None, if_match=OLD_VERSION), 404, "Resource not found")


def test_a_lead_of_another_organization_is_404(api, other_api, other_organization):
    """G22"""
    id = other_api.submit().json()["data"]["lead_id"]
    before = snapshot_of(other_organization)

    for if_match in (None, OLD_VERSION):
        assert_error(update(api, id, last_name=None, if_match=if_match), 404, "Resource not found")

    assert snapshot_of(other_organization) == before


def test_a_key_without_the_scope_write_is_403(organization, id):
    """K9"""
    reader = make_api(organization, scopes=["read"])

    assert_error(update(reader, id, last_name=None), 403, "This API key lacks the scope write")


def test_another_version_is_412_with_the_present_object(api, organization, id):
    """G48"""
    seen = f'"{api.get_lead(id)["updated_at"]}"'
    assert update(api, id, last_name="Lovelace", if_match=seen).status_code == 200
    before = snapshot_of(organization)

    response = update(api, id, last_name="King", if_match=seen)

    message = "The lead has another updated_at than If-Match"
    assert response.status_code == 412
    assert response.json() == {"status": "error", "message": message, "data": api.get_lead(id)}
    assert snapshot_of(organization) == before


def test_a_malformed_if_match_is_400(api, organization, id):
    """G48"""
    before = snapshot_of(organization)

    assert_invalid_fields(update(api, id, last_name=None, if_match="x"), "If-Match")

    assert snapshot_of(organization) == before


@pytest.mark.django_db(transaction=True)
def test_of_simultaneous_updates_with_one_version_one_wins(api, id):
    """G48"""
    version = f'"{api.get_lead(id)["updated_at"]}"'
    names = [f"Name {number}" for number in range(8)]

    responses = run_concurrently(
        api.key, *(lambda api, name=name: update(api, id, if_match=version, last_name=name) for name in names)
    )

    assert status_codes(responses) == {200: 1, 412: 7}
    (winner,) = [response.json()["data"] for response in responses if response.status_code == 200]
    assert api.get_lead(id) == winner
