"""Data of another organization is never read, changed or revealed (docs/interface.md, G22)."""

import pytest

from tests.contract.assertions import assert_error, assert_invalid_fields
from tests.factories import make_event_type, make_member, snapshot_of, summary_of
from webhooks.models import Event

UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def other_ids(other_api, other_organization):
    """Create one object of each kind in the other organization, and return the ids."""
    member = make_member(other_organization, "sol@globex.example")
    opt_in = other_api.submit(external_reference="form-1", traffic={"utm_content": member.user_id}).json()["data"]
    appointment = other_api.get_appointment(other_api.book(host_email="sol@globex.example").json()["data"]["id"])
    ids = {
        "lead": opt_in["lead_id"],
        "opt_in": opt_in["opt_in_id"],
        "appointment": appointment["id"],
        "status": other_api.get_status("WON")["id"],
    }
    return {**ids, "event_type": appointment["appointment_event_type"]["id"], "user": member.user_id}


def test_two_organizations_can_have_the_same_reference_email_and_event_type(
    api, other_api, organization, other_organization
):
    """docs/interface.md, G22"""
    first, second = api.book(), other_api.book()

    appointments = [
        api.get_appointment(first.json()["data"]["id"]),
        other_api.get_appointment(second.json()["data"]["id"]),
    ]
    assert (first.status_code, second.status_code) == (201, 201)
    ids = [
        [
            appointment["id"],
            appointment["lead"]["id"],
            appointment["appointment_event_type"]["id"],
            appointment["outcome"]["id"],
            appointment["first_source"]["id"],
        ]
        for appointment in appointments
    ]
    assert not set(ids[0]) & set(ids[1])
    assert summary_of(organization)["leads"] == summary_of(other_organization)["leads"] == 1


@pytest.mark.parametrize("name", ["appointments", "opt-ins", "leads"])
def test_lists_and_totals_contain_only_the_organizations_own_rows(api, other_ids, name):
    """docs/interface.md, G22"""
    body = api.get(f"/api/external/{name}").json()

    assert (body["data"], body["pagination"]["total"]) == ([], 0)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("appointments", "appointment"), ("opt-ins", "opt_in"), ("leads", "lead"), ("statuses", "status")],
)
def test_details_of_another_organization_are_404(api, other_ids, name, kind):
    """docs/interface.md, G22"""
    assert_error(api.get(f"/api/external/{name}/{other_ids[kind]}"), 404, "Resource not found")


@pytest.mark.parametrize(
    ("name", "parameter", "kind"),
    [
        ("appointments", "lead_id", "lead"),
        ("opt-ins", "lead_id", "lead"),
        ("leads", "status_id", "status"),
        ("events", "after", "event"),
    ],
)
def test_a_filter_by_another_organizations_id_is_400_like_an_unknown_id(
    api, other_ids, other_organization, name, parameter, kind
):
    """docs/interface.md, G22, G28"""
    id = other_ids.get(kind) or str(Event.objects.of(other_organization).first().id)

    response = api.get(f"/api/external/{name}", {parameter: id})

    assert_invalid_fields(response, parameter)
    # The response must not tell whether the id exists elsewhere.
    assert response.json() == api.get(f"/api/external/{name}", {parameter: UNKNOWN_ID}).json()


@pytest.mark.parametrize("field", ["lead", "event_type", "host", "setter", "triager"])
def test_bookings_that_refer_to_another_organization_are_400_and_change_nothing(
    api, other_ids, organization, other_organization, field
):
    """docs/interface.md, G22, A12"""
    parameter = {"lead": "lead_id", "event_type": "event_type_id"}.get(field, f"{field}_email")
    body = {parameter: other_ids.get(field, "sol@globex.example")}
    before = snapshot_of(organization), snapshot_of(other_organization)

    assert_invalid_fields(api.book(**body), parameter)

    assert (snapshot_of(organization), snapshot_of(other_organization)) == before


def test_writes_of_one_organization_do_not_change_another(api, other_ids, other_organization):
    """docs/interface.md, G22"""
    before = snapshot_of(other_organization)

    api.book()
    api.cancel()
    api.submit(external_reference="form-1")

    assert snapshot_of(other_organization) == before


def test_a_member_of_another_organization_in_utm_content_is_not_made_setter(api, other_ids):
    """docs/interface.md, O10"""
    lead = api.submit(traffic={"utm_content": other_ids["user"]}).json()["data"]["lead_id"]

    assert api.get_lead(lead)["setter"] is None


def test_a_booking_does_not_use_another_organizations_event_type(api, other_organization):
    """docs/interface.md, A11, G22"""
    make_event_type(
        other_organization, "Strategy call", call_category="COACHING_CALL", provider="SCHEDULER_A", owner_name="Olga"
    )

    appointment = api.get_appointment(api.book().json()["data"]["id"])

    assert (appointment["call_category"], appointment["appointment_event_type"]["owner_name"]) == ("SALES_CALL", None)


@pytest.mark.django_db(transaction=True)
def test_the_events_list_contains_only_the_organizations_own_events(api, other_ids, organization):
    """docs/interface.md, W6, G22"""
    assert api.list_events() == []

    api.submit()

    assert [event["organization_id"] for event in api.list_events()] == [str(organization.id)] * 2
