"""The lead endpoints: status update, list and detail (docs/interface.md, L3 and L15 to L18)."""

import re

import pytest

from leads.models import Lead, LeadStatusChange
from organizations.actors import SYSTEM
from statuses.services import save_status
from tests.contract.assertions import assert_error, assert_invalid_fields
from tests.factories import make_custom_field, make_member, make_status, set_columns, snapshot_of, summary_of

PATH = "/api/external/leads"
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
FIELDS = [
    "created_at",
    "custom_fields",
    "email",
    "first_name",
    "first_source",
    "id",
    "last_name",
    "last_source",
    "next_step_at",
    "next_step_note",
    "next_step_type",
    "next_touch_point_at",
    "next_touch_point_type",
    "phone_country",
    "phone_e164",
    "previous_ids",
    "setter",
    "status",
    "updated_at",
]


def make_lead(api, email="ada@example.com", **fields):
    """Create a lead by submitting an opt-in, and return its id."""
    return api.submit(email=email, **fields).json()["data"]["lead_id"]


def update_status(api, id, status_id):
    return api.patch(f"{PATH}/{id}/status", {"status_id": status_id})


def emails(api, query=None):
    return [row["email"] for row in api.get_data(PATH, query)]


def test_a_status_update_sets_the_status_and_records_an_event(api, organization):
    """docs/interface.md, L15"""
    id, won = make_lead(api), api.get_status("WON")

    response = update_status(api, id, won["id"])

    assert response.status_code == 200
    assert response.json() == {
        "status": "success",
        "message": response.json()["message"],
        "data": {"id": id, "status": won},
    }
    assert api.get_lead(id)["status"] == won
    assert summary_of(organization)["events"] == ["lead.created", "lead.status_changed", "opt_in.created"]


def test_a_status_change_is_stored_with_its_actor(api, organization):
    """docs/interface.md, S12, K11"""
    id = make_lead(api)

    update_status(api, id, api.get_status("WON")["id"])

    status_change = LeadStatusChange.objects.of(organization).filter(lead_id=id).latest("id")
    assert (status_change.actor_kind, status_change.actor_id, status_change.actor_name) == (
        "API_KEY",
        api.key[3:15],
        "Tests",
    )
    assert (status_change.from_status.role, status_change.to_status.role) == ("NEW_LEAD", "WON")


@pytest.mark.parametrize(
    "role",
    [
        "NEW_LEAD",
        "APPOINTMENT_BOOKED",
        "NO_SHOW",
        "RESCHEDULED",
        "CANCELED",
        "PARTIAL_PAYMENT",
        "WON",
        "UNQUALIFIED",
        "FOLLOW_UP",
        "LOST",
    ],
)
def test_a_lead_can_change_from_won_to_any_status(api, role):
    """docs/interface.md, L15"""
    id = make_lead(api)
    update_status(api, id, api.get_status("WON")["id"])

    response = update_status(api, id, api.get_status(role)["id"])

    assert (response.status_code, response.json()["data"]["status"]["role"]) == (200, role)


def test_the_same_status_again_is_200_and_records_nothing(api, organization):
    """docs/interface.md, L15"""
    id, won = make_lead(api), api.get_status("WON")["id"]
    update_status(api, id, won)
    before = snapshot_of(organization)

    response = update_status(api, id, won)

    assert (response.status_code, response.json()["data"]["status"]["id"]) == (200, won)
    assert snapshot_of(organization) == before


def test_a_retired_status_is_refused(api, organization):
    """docs/interface.md, S14"""
    id, status = make_lead(api), make_status(organization, "Warm", is_active=False)
    before = snapshot_of(organization)

    response = update_status(api, id, str(status.pk))

    assert_invalid_fields(response, "status_id")
    assert response.json()["message"] == "status_id is retired: choose an active status"
    assert snapshot_of(organization) == before


def test_a_status_that_was_retired_since_is_accepted_again(api, organization):
    """docs/interface.md, L15 and S14"""
    id, status = make_lead(api), make_status(organization, "Warm")
    update_status(api, id, str(status.pk))
    status.is_active = False
    save_status(organization=organization, actor=SYSTEM, status=status)
    before = snapshot_of(organization)

    response = update_status(api, id, str(status.pk))

    assert (response.status_code, response.json()["data"]["status"]["id"]) == (200, str(status.pk))
    assert snapshot_of(organization) == before
    assert [lead["id"] for lead in api.get_data(f"{PATH}?status_id={status.pk}")] == [id]


def test_a_status_of_the_lead_board_is_accepted(api, organization):
    """docs/interface.md, L15"""
    id, status = make_lead(api), make_status(organization, "Warm", type="LEAD")

    response = update_status(api, id, str(status.id))

    assert response.json()["data"]["status"]["type"] == "LEAD"


def test_a_status_of_the_appointment_board_is_400(api, organization):
    """docs/interface.md, L16"""
    id, status = make_lead(api), make_status(organization, "Warm", type="APPOINTMENT")
    before = snapshot_of(organization)

    assert_invalid_fields(update_status(api, id, str(status.id)), "status_id")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("value", ["x", "5", UNKNOWN_ID, 5, True, ["a"], {}, "WON"])
def test_a_malformed_or_unknown_status_is_400(api, organization, value):
    """docs/interface.md, G21, L16"""
    id = make_lead(api)
    before = snapshot_of(organization)

    assert_invalid_fields(update_status(api, id, value), "status_id")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("body", [{}, {"status_id": None}, {"status_id": ""}], ids=str)
def test_status_id_is_required(api, organization, body):
    """docs/interface.md, G13, L15"""
    id = make_lead(api)
    before = snapshot_of(organization)

    response = api.patch(f"{PATH}/{id}/status", body)

    message = "status_id is required"
    assert response.status_code == 400
    assert response.json() == {"status": "error", "message": message, "errors": {"status_id": [message]}}
    assert snapshot_of(organization) == before


def test_a_status_of_another_organization_is_400_like_an_unknown_one(api, other_api, organization):
    """docs/interface.md, G22"""
    id = make_lead(api)
    before = snapshot_of(organization)

    response = update_status(api, id, other_api.get_status("WON")["id"])

    assert_invalid_fields(response, "status_id")
    # The response must not tell whether the id exists elsewhere.
    assert response.json() == update_status(api, id, UNKNOWN_ID).json()
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("id", [UNKNOWN_ID, "x", "5"])
def test_updating_the_status_of_an_unknown_lead_is_404(api, id):
    """docs/interface.md, L16"""
    assert_error(update_status(api, id, api.get_status("WON")["id"]), 404, "Resource not found")


def test_a_lead_of_another_organization_is_404(api, other_api, other_organization):
    """docs/interface.md, G22"""
    id = make_lead(other_api)
    before = snapshot_of(other_organization)

    assert_error(update_status(api, id, api.get_status("WON")["id"]), 404, "Resource not found")
    assert_error(update_status(api, id, other_api.get_status("WON")["id"]), 404, "Resource not found")
    assert_error(api.get(f"{PATH}/{id}"), 404, "Resource not found")

    assert snapshot_of(other_organization) == before


def test_a_malformed_status_id_is_refused_before_the_lead_is_looked_up(api):
    """docs/interface.md, L16"""
    assert_invalid_fields(update_status(api, UNKNOWN_ID, "x"), "status_id")


def test_a_lead_has_exactly_the_documented_fields(api, organization, host):
    """docs/interface.md, L3"""
    size_field = make_custom_field(organization, "LEAD", "size", type="NUMBER")
    # Must not appear on the lead.
    make_custom_field(organization, "APPOINTMENT", "of_appointments")
    id = make_lead(
        api,
        last_name="Byron",
        phone_e164="+442079460000",
        phone_country="GB",
        traffic={"utm_content": host.user_id, "utm_source": "google"},
    )
    set_columns(Lead, organization, id, custom_values={str(size_field.id): 12})

    response = api.get(f"{PATH}/{id}")

    lead = response.json()["data"]
    source = {"id": lead["first_source"]["id"], "name": "google"}
    setter = {
        "first_name": "Hana",
        "last_name": "Host",
        "email": "hana@acme.example",
        "profile_image_url": None,
        "id": host.user_id,
        "role": "CLOSER",
    }
    assert response.status_code == 200
    assert response.json() == {"success": True, "message": response.json()["message"], "data": lead}
    assert sorted(lead) == FIELDS
    # All fields but created_at and updated_at, the first and the last.
    assert {name: lead[name] for name in FIELDS[1:-1]} == {
        "custom_fields": [{"id": str(size_field.id), "key": "size", "label": "Size", "type": "NUMBER", "value": 12}],
        "email": "ada@example.com",
        "first_name": "Ada",
        "first_source": source,
        "id": id,
        "last_name": "Byron",
        "last_source": source,
        "next_step_at": None,
        "next_step_note": None,
        "next_step_type": None,
        "next_touch_point_at": None,
        "next_touch_point_type": None,
        "phone_country": "GB",
        "phone_e164": "+442079460000",
        "previous_ids": [],
        "setter": setter,
        "status": api.get_status("NEW_LEAD"),
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", lead["created_at"])
    assert api.get_data(PATH) == [{name: value for name, value in lead.items() if name != "previous_ids"}]


@pytest.mark.parametrize("id", [UNKNOWN_ID, "x", "5", "user_abc"])
def test_an_unknown_or_malformed_id_in_the_path_is_404(api, id):
    """docs/interface.md, G21, L18"""
    assert_error(api.get(f"{PATH}/{id}"), 404, "Resource not found")


@pytest.mark.parametrize("email", ["grace@example.com", "GRACE@Example.com"])
def test_leads_are_filtered_by_email_case_insensitively(api, other_api, email):
    """docs/interface.md, L17"""
    for name in ["ada", "Grace", "gracey"]:
        make_lead(api, f"{name}@example.com")
    make_lead(other_api, "grace@example.com")

    assert emails(api, {"email": email}) == ["Grace@example.com"]


def test_an_email_that_no_lead_has_finds_nothing(api):
    """docs/interface.md, L17"""
    make_lead(api)

    assert emails(api, {"email": "nobody@example.com"}) == []


def test_leads_are_filtered_by_status_and_status_role(api):
    """docs/interface.md, L17"""
    won = api.get_status("WON")["id"]
    update_status(api, make_lead(api, "won@example.com"), won)
    update_status(api, make_lead(api, "booked@example.com"), api.get_status("APPOINTMENT_BOOKED")["id"])
    make_lead(api, "new@example.com")

    assert emails(api, {"status_id": won}) == ["won@example.com"]
    assert emails(api, {"status_role": "NEW_LEAD"}) == ["new@example.com"]
    assert emails(api, {"status_role": "LOST"}) == []
    assert emails(api, {"status_id": won, "status_role": "NEW_LEAD"}) == []


@pytest.mark.parametrize("value", ["x", UNKNOWN_ID])
def test_a_malformed_or_unknown_status_filter_is_400(api, value):
    """docs/interface.md, G28"""
    assert_invalid_fields(api.get(PATH, {"status_id": value}), "status_id")


def test_a_status_filter_by_another_organizations_status_is_400(api, other_api):
    """docs/interface.md, G28"""
    assert_invalid_fields(api.get(PATH, {"status_id": other_api.get_status("WON")["id"]}), "status_id")


def test_an_unknown_status_role_is_400_with_the_accepted_values(api):
    """docs/interface.md, G27"""
    response = api.get(PATH, {"status_role": "MAYBE"})

    assert_invalid_fields(response, "status_role")
    assert all(role in response.json()["message"] for role in ["NEW_LEAD", "WON", "LOST"])


def test_leads_are_filtered_by_setter(api, organization, host):
    """docs/interface.md, L17, G30"""
    make_member(organization, "olga@acme.example")
    make_lead(api, "hanas@example.com", traffic={"utm_content": host.user_id})
    make_lead(api)

    emails_by_setter = {
        setter: emails(api, {"setter": setter})
        for setter in ["hana@acme.example", "HANA@ACME.example", "olga@acme.example", "nobody@acme.example"]
    }

    assert emails_by_setter == {
        "hana@acme.example": ["hanas@example.com"],
        "HANA@ACME.example": ["hanas@example.com"],
        "olga@acme.example": [],
        "nobody@acme.example": [],
    }
