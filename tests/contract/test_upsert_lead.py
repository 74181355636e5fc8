"""POST /api/external/leads: a lead is created or completed by e-mail (docs/interface.md, L30 to L33)."""

from typing import Any

import pytest

from leads.merging import merge_leads
from leads.models import CustomField, Lead
from organizations.actors import SYSTEM
from organizations.models import Membership
from tests.client import ApiClient
from tests.contract.assertions import assert_error, assert_invalid_fields
from tests.contract.concurrency import run_concurrently, status_codes
from tests.factories import deactivate, make_api, make_custom_field, make_member, snapshot_of

PATH = "/api/external/leads"
PHONE = {"phone_e164": "+442079460000", "phone_country": "gb"}


def send(api: ApiClient, /, **fields: Any) -> Any:
    return api.post(PATH, {"email": "ada@example.com", **fields})


def test_a_new_lead_has_all_values(api, organization, host: Membership):
    """L30, L31"""
    make_custom_field(organization, "LEAD", "size", type="NUMBER")
    facts = {
        "first_name": " Ada ",
        "last_name": "Byron",
        **PHONE,
        "setter_email": host.user.email,
        "source": "Trade fair",
        "custom_fields": {"size": 25},
    }

    response = send(api, **facts)

    data = response.json()["data"]
    changed = ["first_name", "last_name", "phone_e164", "setter_email", "source", "custom_fields.size"]
    assert response.status_code == 201
    assert response.json() == {
        "status": "success",
        "message": "Lead created",
        "data": {"id": data["id"], "is_new": True, "changed": changed, "kept": []},
    }
    lead = api.get_lead(data["id"])
    assert (lead["first_name"], lead["last_name"], lead["email"]) == ("Ada", "Byron", "ada@example.com")
    assert (lead["phone_e164"], lead["phone_country"]) == ("+442079460000", "GB")
    assert (lead["setter"]["email"], lead["status"]["role"]) == (host.user.email, "NEW_LEAD")
    assert (lead["first_source"]["name"], lead["last_source"]["name"]) == ("Trade fair", "Trade fair")
    assert [field["value"] for field in lead["custom_fields"]] == [25]


def test_an_email_alone_is_enough(api):
    """L5, L10, L31: the part before the @ stands in for the first name until one is known."""
    id = send(api).json()["data"]["id"]
    lead = api.get_lead(id)
    assert (lead["first_name"], lead["last_name"], lead["first_source"]["name"]) == ("ada", "", "MANUAL")

    data = send(api, first_name="Augusta").json()["data"]

    assert data == {"id": id, "is_new": False, "changed": ["first_name"], "kept": []}
    assert api.get_lead(id)["first_name"] == "Augusta"


def test_known_values_are_kept_and_empty_ones_filled(api, organization, host: Membership):
    """L32"""
    make_custom_field(organization, "LEAD", "size", type="NUMBER")
    make_custom_field(organization, "LEAD", "city")
    make_member(organization, "olga@acme.example")
    id = send(api, first_name="Ada", setter_email=host.user.email, custom_fields={"size": 25}).json()["data"]["id"]

    response = send(
        api,
        email="ADA@example.com",
        first_name="Augusta",
        last_name="King",
        **PHONE,
        setter_email="olga@acme.example",
        source="Trade fair",
        custom_fields={"city": "London", "size": 30},
    )

    changed = ["last_name", "phone_e164", "custom_fields.city"]
    kept = ["first_name", "setter_email", "source", "custom_fields.size"]
    assert (response.status_code, response.json()["message"]) == (200, "Lead updated")
    assert response.json()["data"] == {"id": id, "is_new": False, "changed": changed, "kept": kept}
    lead = api.get_lead(id)
    assert (lead["first_name"], lead["last_name"], lead["email"]) == ("Ada", "King", "ada@example.com")
    assert (lead["setter"]["email"], lead["last_source"]["name"]) == (host.user.email, "MANUAL")
    assert {field["key"]: field["value"] for field in lead["custom_fields"]} == {"size": 25, "city": "London"}


@pytest.mark.django_db(transaction=True)
def test_named_values_are_overwritten_in_one_event(api, organization, host: Membership):
    """L19, L32"""
    make_custom_field(organization, "LEAD", "size", type="NUMBER")
    id = send(api, first_name="Ada", last_name="Byron", **PHONE, custom_fields={"size": 25}).json()["data"]["id"]
    seen = len(api.list_events())
    facts = {
        "first_name": "Augusta",
        "last_name": "King",
        "phone_e164": "+14155552671",
        "phone_country": "US",
        "setter_email": host.user.email,
        "source": "Trade fair",
        "custom_fields": {"size": 30},
    }

    response = send(api, **facts, overwrite=["first_name", "phone_e164", "source", "custom_fields"])

    changed = ["first_name", "phone_e164", "setter_email", "source", "custom_fields.size"]
    assert response.json()["data"] == {"id": id, "is_new": False, "changed": changed, "kept": ["last_name"]}
    (event,) = [event for event in api.list_events()[seen:] if event["type"].startswith("lead.")]
    assert (event["type"], event["data"], event["actor"]["kind"]) == ("lead.updated", api.get_lead(id), "API_KEY")
    assert (event["data"]["first_source"]["name"], event["data"]["last_source"]["name"]) == ("MANUAL", "Trade fair")
    assert {*event["previous"]} == {
        *("first_name", "phone_e164", "phone_country", "setter", "last_source", "custom_fields")
    }


def test_a_repetition_changes_nothing(api, organization, host: Membership):
    """G37, L32"""
    facts = {"first_name": "Ada", "last_name": "Byron", **PHONE, "setter_email": host.user.email, "source": "Fair"}
    id = send(api, **facts).json()["data"]["id"]
    before = snapshot_of(organization)

    response = send(api, **facts, overwrite=["first_name", "source"])

    assert response.json()["data"] == {"id": id, "is_new": False, "changed": [], "kept": []}
    assert snapshot_of(organization) == before


def test_the_address_of_a_merged_lead_leads_to_the_kept_one(api, organization):
    """L22, L30"""
    kept = send(api, email="grace@example.com", first_name="Grace").json()["data"]["id"]
    merged = send(api).json()["data"]["id"]
    leads = {str(lead.pk): lead.pk for lead in Lead.objects.of(organization)}
    merge_leads(organization=organization, actor=SYSTEM, keep=leads[kept], merge=leads[merged], values=[])

    response = send(api, last_name="Hopper")

    assert (response.status_code, response.json()["data"]["id"]) == (200, kept)
    assert (api.get_lead(kept)["last_name"], api.get_lead(kept)["email"]) == ("Hopper", "grace@example.com")


@pytest.mark.parametrize(
    ("fields", "name", "message"),
    [
        ({"email": None}, "email", "email is required"),
        ({"phone_e164": "+14155552671"}, "phone_country", "phone_country is required when phone_e164 is given"),
        (
            {"setter_email": "nobody@acme.example"},
            "setter_email",
            "setter_email must belong to an active member of the organization who is not a viewer",
        ),
        ({"custom_fields": {"x": 1}}, "custom_fields.x", "custom_fields.x is not known in the organization"),
        (
            {"overwrite": ["first_name", "email"]},
            "overwrite.1",
            "overwrite.1 must be one of: first_name, last_name, phone_e164, setter_email, external_reference, source, "
            "custom_fields",
        ),
        ({"overwrite": "first_name"}, "overwrite", "overwrite must be an array"),
    ],
)
def test_an_invalid_field_is_400_and_changes_nothing(api, organization, fields, name, message):
    """L33"""
    before = snapshot_of(organization)

    response = send(api, **{"first_name": "Ada", **fields})

    assert_invalid_fields(response, name)
    assert response.json()["message"] == message
    assert snapshot_of(organization) == before


def test_a_key_without_the_scope_write_is_403(organization):
    """K9"""
    assert_error(send(make_api(organization, scopes=["read"])), 403, "This API key lacks the scope write")


@pytest.mark.django_db(transaction=True)
def test_simultaneous_requests_create_one_lead(api):
    """L30"""
    responses = run_concurrently(api.key, *(lambda api: send(api, first_name="Ada") for _ in range(6)))

    assert status_codes(responses) == {201: 1, 200: 5}
    assert len({response.json()["data"]["id"] for response in responses}) == 1


def test_values_that_are_too_long_together_are_refused(api, organization):
    """A36, L32"""
    for number in range(8):
        make_custom_field(organization, "LEAD", f"text_{number}")
    first, second = ({f"text_{number}": "x" * 10_000 for number in some} for some in (range(4), range(4, 8)))
    assert send(api, custom_fields=first).status_code == 201

    assert_invalid_fields(send(api, custom_fields=second), "custom_fields")
    assert send(api, custom_fields={"text_4": "x"}).json()["data"]["changed"] == ["custom_fields.text_4"]


def test_a_value_that_the_lead_has_is_accepted_after_its_option_was_removed(api, organization):
    """A36, L32: a repetition stays 200"""
    field = make_custom_field(organization, "LEAD", "tier", type="SELECT", options=["Gold", "Old"])
    body = {"email": "ada@example.com", "first_name": "Ada", "custom_fields": {"tier": "Old"}}
    first = api.post(PATH, body)
    CustomField.objects.of(organization).filter(pk=field.pk).update(options=["Gold"])

    again = api.post(PATH, body)
    other = api.post(PATH, {**body, "email": "bob@example.com"})

    assert (first.status_code, again.status_code) == (201, 200)
    assert_invalid_fields(other, "custom_fields.tier")


def test_a_setter_who_has_left_is_accepted_again_for_their_own_lead(api, organization, host: Membership):
    """A34, L32"""
    body = {"email": "ada@example.com", "setter_email": host.user.email}
    first = api.post(PATH, body)
    deactivate(host)

    again, other = api.post(PATH, body), api.post(PATH, {**body, "email": "bob@example.com"})

    assert (first.status_code, again.status_code) == (201, 200)
    assert_invalid_fields(other, "setter_email")
