"""POST /api/external/appointments/cancel (docs/interface.md, A20 to A24, S9, S10)."""

import json

import pytest

from appointments.models import Appointment, Note
from appointments.services import edit_appointment
from leads.models import Lead
from statuses.models import Status
from tests.contract.assertions import assert_error_format, assert_invalid_fields
from tests.factories import make_member, make_provider_appointment, owner_actor, set_columns, snapshot_of, summary_of
from webhooks.models import Delivery, Event
from webhooks.services import add_endpoint

PATH = "/api/external/appointments/cancel"
# Far enough from today that they stay in the future and in the past.
SOON, LATER, PAST = "2090-01-05T10:00:00.000Z", "2091-01-05T10:00:00.000Z", "2020-01-05T10:00:00.000Z"


def book(api, reference="ref-1", time=SOON, **fields):
    """Book and return the appointment's detail."""
    return api.get_appointment(
        api.book(external_reference=reference, schedule_time=time, **fields).json()["data"]["id"]
    )


def test_a_cancellation_is_200_with_the_id(api, other_organization):
    """docs/interface.md, A21"""
    appointment = book(api)

    response = api.cancel()

    assert response.status_code == 200
    assert response.json() == {
        "status": "success",
        "message": response.json()["message"],
        "data": {"id": appointment["id"]},
    }
    assert response.json()["message"]


def test_canceling_sets_the_outcome_and_lead_status_and_clears_the_meeting_url(api):
    """docs/interface.md, A23"""
    before = book(api, meeting_url="https://meet.example/1")

    api.cancel()

    after = api.get_appointment(before["id"])
    assert (after["outcome"]["role"], after["meeting_url"], after["no_show"]) == ("CANCELED", None, False)
    assert api.get_lead(before["lead"]["id"])["status"]["role"] == "CANCELED"
    # `lead` contains the touch point, which is recomputed.
    changed_fields = {name for name in before if after[name] != before[name]}
    assert changed_fields == {"outcome", "meeting_url", "lead", "updated_at"}


def test_canceling_records_events_and_queues_notifications_and_deliveries(api, organization, other_organization):
    """docs/interface.md, A23"""
    make_member(organization, "hana@acme.example")
    endpoint, _ = add_endpoint(
        organization=organization, url="https://hooks.example.com/a", event_types=["appointment.canceled"]
    )
    book(api, host_email="hana@acme.example")

    api.cancel()

    summary = summary_of(organization)
    assert summary["events"] == ["appointment.canceled", "appointment.created", "lead.created", "lead.status_changed"]
    assert summary["notifications"] == [("CALL_BOOKED", "hana@acme.example"), ("CALL_CANCELED", "hana@acme.example")]
    assert list(Delivery.objects.of(organization).values_list("endpoint_id", "event__type")) == [
        (endpoint.id, "appointment.canceled")
    ]


@pytest.mark.parametrize("reference", [..., None, ""])
def test_external_reference_is_required(api, organization, reference):
    """docs/interface.md, A20"""
    book(api)
    before = snapshot_of(organization)

    response = api.post(PATH, {} if reference is ... else {"external_reference": reference})

    message = "external_reference is required"
    assert response.status_code == 400
    assert response.json() == {"status": "error", "message": message, "errors": {"external_reference": [message]}}
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("value", [5, True, ["ref-1"], {"a": "ref-1"}, "a" * 256])
def test_an_invalid_reference_is_400(api, organization, value):
    """docs/interface.md, G12, G15"""
    book(api)
    before = snapshot_of(organization)

    assert_invalid_fields(api.cancel(external_reference=value), "external_reference")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("value", [5, False, ["a"], {}, "a" * 10_001])
def test_invalid_notes_are_400(api, organization, value):
    """docs/interface.md, G12, G15"""
    book(api)
    before = snapshot_of(organization)

    assert_invalid_fields(api.cancel(notes=value), "notes")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("blank", [None, ""])
def test_blank_notes_count_as_absent(api, blank):
    """docs/interface.md, G13"""
    book(api, notes="from the booking")

    response = api.cancel(notes=blank)

    assert response.status_code == 200
    assert api.get_data("/api/external/appointments")[0]["notes"]["note"] == "from the booking"


def test_an_unknown_reference_is_404_with_a_message_that_contains_it(api, organization):
    """docs/interface.md, A22"""
    book(api)
    before = snapshot_of(organization)

    response = api.cancel(external_reference="ref-9")

    assert_error_format(response, 404)
    assert "ref-9" in response.json()["message"]
    assert snapshot_of(organization) == before


def test_a_reference_of_another_organization_is_404_and_changes_nothing(
    api, other_api, organization, other_organization
):
    """docs/interface.md, G22"""
    book(other_api)
    before = snapshot_of(organization), snapshot_of(other_organization)

    response = api.cancel()

    assert response.status_code == 404
    assert (snapshot_of(organization), snapshot_of(other_organization)) == before


@pytest.mark.parametrize("provider", ["SCHEDULER_A", "SCHEDULER_B", "SCHEDULER_C"])
def test_an_appointment_of_a_provider_is_409_with_a_message_that_names_it(api, organization, provider):
    """docs/interface.md, A22"""
    make_provider_appointment(organization, source=provider)
    before = snapshot_of(organization)

    response = api.cancel()

    assert_error_format(response, 409)
    assert provider in response.json()["message"]
    assert snapshot_of(organization) == before


def test_only_the_manual_appointment_is_canceled_if_a_provider_has_the_same_reference(api, organization):
    """docs/interface.md, A8, A21"""
    provider_appointment = make_provider_appointment(organization)
    appointment = book(api)

    response = api.cancel()

    assert response.json()["data"] == {"id": appointment["id"]}
    assert api.get_appointment(appointment["id"])["outcome"]["role"] == "CANCELED"
    assert api.get_appointment(str(provider_appointment.id))["outcome"]["role"] == "APPOINTMENT_BOOKED"


def test_canceling_again_is_200_and_changes_nothing(api, organization):
    """docs/interface.md, A24"""
    appointment = book(api)
    api.cancel(notes="ill")
    before = snapshot_of(organization)

    responses = [api.cancel(notes="ill"), api.cancel()]

    assert [(response.status_code, response.json()["data"]) for response in responses] == [
        (200, {"id": appointment["id"]})
    ] * 2
    assert snapshot_of(organization) == before


def test_canceling_again_with_another_note_only_stores_the_note(api, organization):
    """docs/interface.md, A24"""
    appointment = book(api)
    api.cancel(notes="ill")
    before = summary_of(organization)

    api.cancel(notes="on holiday")

    after = summary_of(organization)
    assert after == before | {"events": sorted([*before["events"], "note.created"])}
    assert list(Note.objects.of(organization).order_by("id").values_list("note", flat=True)) == ["ill", "on holiday"]
    assert api.get_data("/api/external/appointments")[0]["notes"] == {"note": "on holiday", "mention_users": []}
    assert api.get_appointment(appointment["id"])["outcome"]["role"] == "CANCELED"


def test_canceling_again_after_staff_changed_the_outcome_is_a_new_cancellation(api, organization):
    """docs/interface.md, A24"""
    id = book(api)["id"]
    api.cancel()
    appointment = Appointment.objects.of(organization).get(pk=id)
    follow_up = Status.objects.of(organization).get(role="FOLLOW_UP")
    edit_appointment(
        organization=organization, actor=owner_actor(organization), appointment=appointment, status_id=follow_up.id
    )

    api.cancel()

    assert api.get_appointment(id)["outcome"]["role"] == "CANCELED"
    assert summary_of(organization)["events"].count("appointment.canceled") == 2
    assert summary_of(organization)["notifications"].count(("CALL_CANCELED", "owner@acme.example")) == 2


@pytest.mark.parametrize("role", ["WON", "PARTIAL_PAYMENT"])
def test_canceling_does_not_change_the_status_of_a_lead_that_has_paid(api, organization, role):
    """docs/interface.md, S10"""
    appointment = book(api)
    api.patch(f"/api/external/leads/{appointment['lead']['id']}/status", {"status_id": api.get_status(role)["id"]})
    before = summary_of(organization)["events"].count("lead.status_changed")

    api.cancel()

    assert api.get_appointment(appointment["id"])["outcome"]["role"] == "CANCELED"
    assert api.get_lead(appointment["lead"]["id"])["status"]["role"] == role
    assert summary_of(organization)["events"].count("lead.status_changed") == before


@pytest.mark.parametrize("role", ["UNQUALIFIED", "LOST", "FOLLOW_UP", "NO_SHOW"])
def test_canceling_does_not_overwrite_a_verdict_about_the_lead(api, organization, role):
    """docs/interface.md, S9"""
    appointment = book(api)
    api.patch(f"/api/external/leads/{appointment['lead']['id']}/status", {"status_id": api.get_status(role)["id"]})
    before = summary_of(organization)["events"].count("lead.status_changed")

    api.cancel()

    assert api.get_appointment(appointment["id"])["outcome"]["role"] == "CANCELED"
    assert api.get_lead(appointment["lead"]["id"])["status"]["role"] == role
    assert summary_of(organization)["events"].count("lead.status_changed") == before


@pytest.mark.parametrize("role", ["NEW_LEAD", "RESCHEDULED", "APPOINTMENT_BOOKED"])
def test_canceling_replaces_a_status_that_is_no_verdict(api, role):
    """docs/interface.md, S9"""
    appointment = book(api)
    api.patch(f"/api/external/leads/{appointment['lead']['id']}/status", {"status_id": api.get_status(role)["id"]})

    api.cancel()

    assert api.get_lead(appointment["lead"]["id"])["status"]["role"] == "CANCELED"


@pytest.mark.parametrize("role", ["UNQUALIFIED", "LOST", "FOLLOW_UP", "NO_SHOW"])
def test_a_new_booking_replaces_a_verdict_about_the_lead(api, role):
    """docs/interface.md, S8"""
    lead_id = book(api)["lead"]["id"]
    api.patch(f"/api/external/leads/{lead_id}/status", {"status_id": api.get_status(role)["id"]})

    book(api, "ref-2", LATER)

    assert api.get_lead(lead_id)["status"]["role"] == "APPOINTMENT_BOOKED"


def test_a_lead_with_another_upcoming_appointment_stays_booked(api):
    """docs/interface.md, S9, L13"""
    first = book(api)
    book(api, "ref-2", LATER)

    api.cancel()

    lead = api.get_lead(first["lead"]["id"])
    assert (lead["status"]["role"], lead["next_touch_point_at"], lead["next_touch_point_type"]) == (
        "APPOINTMENT_BOOKED",
        LATER,
        "APPOINTMENT",
    )


def test_a_canceled_call_with_another_outcome_since_is_not_upcoming(api):
    """docs/interface.md, L13"""
    booked = book(api)
    api.cancel()

    api.patch(f"/api/external/appointments/{booked['id']}", {"outcome_role": "FOLLOW_UP"})

    assert api.get_lead(booked["lead"]["id"])["next_touch_point_at"] is None


@pytest.mark.parametrize("other_appointment", ["in_the_past", "canceled"])
def test_a_past_or_canceled_other_appointment_does_not_keep_the_lead_booked(api, other_appointment):
    """docs/interface.md, S9, L13"""
    first = book(api)
    book(api, "ref-2", PAST if other_appointment == "in_the_past" else LATER)
    if other_appointment == "canceled":
        api.cancel(external_reference="ref-2")

    api.cancel()

    lead = api.get_lead(first["lead"]["id"])
    assert (lead["status"]["role"], lead["next_touch_point_at"], lead["next_touch_point_type"]) == (
        "CANCELED",
        None,
        None,
    )


def test_canceling_keeps_a_touch_point_that_staff_set(api, organization):
    """docs/interface.md, L13"""
    lead_id = book(api)["lead"]["id"]
    set_columns(Lead, organization, lead_id, next_touch_point_at="2089-01-01T00:00:00Z", next_touch_point_type="CALL")

    api.cancel()

    lead = api.get_lead(lead_id)
    assert (lead["next_touch_point_at"], lead["next_touch_point_type"]) == ("2089-01-01T00:00:00.000Z", "CALL")


def test_a_past_appointment_can_be_canceled(api):
    """docs/interface.md, A21"""
    appointment = book(api, time=PAST)

    response = api.cancel()

    assert response.status_code == 200
    assert api.get_appointment(appointment["id"])["outcome"]["role"] == "CANCELED"
    assert api.get_lead(appointment["lead"]["id"])["status"]["role"] == "CANCELED"


def test_notes_of_a_cancellation_become_the_latest_note(api):
    """docs/interface.md, A20"""
    book(api, notes="from the booking")

    api.cancel(notes="é" * 10_000)

    assert api.get_data("/api/external/appointments")[0]["notes"] == {"note": "é" * 10_000, "mention_users": []}


def test_the_event_has_only_the_previous_outcome_if_there_was_no_meeting_url(api, organization):
    """docs/interface.md, W4"""
    book(api)

    api.cancel()

    assert previous_of(organization) == {"outcome"}


def test_the_event_has_the_meeting_url_that_was_cleared(api, organization):
    """docs/interface.md, W4"""
    book(api, meeting_url="https://meet.example/1")

    api.cancel()

    assert previous_of(organization) == {"outcome", "meeting_url"}


def previous_of(organization):
    """Return the names of the fields in `previous` of the cancellation's event."""
    # The bytes that receivers get, not the model.
    return set(json.loads(Event.objects.of(organization).get(type="appointment.canceled").body)["previous"])
