"""`import_appointment`: what the sync of a scheduling provider calls (docs/interface.md, A7, A8 and A22)."""

from collections.abc import Callable
from datetime import UTC, datetime
from threading import Thread
from typing import Any

import pytest
from django.db import connections, transaction

from appointments.models import Appointment, EventType, Note, OutcomeChange, Provider
from appointments.services import Booking, cancel_appointment, edit_appointment, import_appointment, reschedule
from foundation.api.exceptions import ValidationFailed
from leads.privacy.erasing import request_erasure
from organizations.actors import Actor, ActorKind
from organizations.models import Membership, Organization
from statuses.models import Status, StatusRole
from tests.client import ApiClient
from tests.contract.concurrency import THREADS, run_concurrently
from tests.factories import events_of, notifications_of, owner_actor, snapshot_of, summary_of

SYNC = Actor(ActorKind.SYSTEM, "", "Scheduler A")
NEXT_YEAR = datetime(2090, 1, 5, 10, tzinfo=UTC)
LATER = datetime(2090, 1, 6, 10, tzinfo=UTC)
LAST_YEAR = datetime(2020, 1, 5, 10, tzinfo=UTC)
BOOKED = ["appointment.created", "lead.created"]
Import = Callable[..., Booking]


@pytest.fixture
def run_import(organization: Organization) -> Import:
    """Return a function that imports a valid appointment, with changed fields."""

    def run(**fields: Any) -> Booking:
        defaults = {
            "provider": Provider.SCHEDULER_A,
            "external_reference": "ref-1",
            "schedule_time": NEXT_YEAR,
            "lead_email": "ada@example.com",
            "event_type_name": "Strategy call",
            "meeting_url": "https://meet.example/1",
        }
        return import_appointment(organization=organization, actor=SYNC, **{**defaults, **fields})

    return run


def stored(organization: Organization, booking: Booking) -> Appointment:
    appointment: Appointment = Appointment.objects.of(organization).select_related("lead__status").get(pk=booking.id)
    return appointment


def change_as_staff(organization: Organization, service: Callable[..., Any], booking: Booking, **changes: Any) -> None:
    appointment = stored(organization, booking)
    service(organization=organization, actor=owner_actor(organization), appointment=appointment, **changes)


def status_id(organization: Organization, role: StatusRole) -> Any:
    return Status.objects.of(organization).get(role=role).pk


def outcome_history(organization: Organization) -> list[tuple[str, str]]:
    """Return role and actor of every outcome that was set, oldest first."""
    changes = OutcomeChange.objects.of(organization).order_by("created_at", "id")
    return list(changes.values_list("to_status__role", "actor_name"))


def test_a_new_appointment_is_stored_with_its_lead_event_type_source_note_and_events(
    organization: Organization, other_organization: Organization, api: ApiClient, host: Membership, run_import: Import
) -> None:
    before = snapshot_of(other_organization)

    booking = run_import(
        lead_first_name="Ada",
        lead_last_name="Lovelace",
        lead_phone="+442079460000",
        host_email=host.user.email,
        notes="Wants to know the price",
    )

    appointment = api.get_appointment(str(booking.id))
    lead = api.get_lead(appointment["lead"]["id"])
    event_type = EventType.objects.of(organization).get()
    assert booking.is_new
    assert (appointment["source"], appointment["external_reference"]) == ("SCHEDULER_A", "ref-1")
    assert appointment["schedule_time"] == "2090-01-05T10:00:00.000Z"
    assert (appointment["host"]["email"], appointment["meeting_url"]) == (host.user.email, "https://meet.example/1")
    assert (appointment["outcome"]["role"], outcome_history(organization)) == (
        "APPOINTMENT_BOOKED",
        [("APPOINTMENT_BOOKED", "Scheduler A")],
    )
    assert appointment["first_source"]["name"] == appointment["last_source"]["name"] == "SCHEDULER_A"
    assert (event_type.name, event_type.provider) == ("Strategy call", "SCHEDULER_A")
    assert (lead["first_name"], lead["last_name"], lead["phone_e164"]) == ("Ada", "Lovelace", "+442079460000")
    assert (lead["status"]["role"], lead["next_touch_point_at"]) == (
        "APPOINTMENT_BOOKED",
        appointment["schedule_time"],
    )
    assert api.get_data("/api/external/appointments")[0]["notes"]["note"] == "Wants to know the price"
    assert events_of(organization) == [*BOOKED, "note.created"]
    assert snapshot_of(other_organization) == before


def test_an_import_notifies_nobody_because_the_provider_has_invited_everybody(
    organization: Organization, run_import: Import
) -> None:
    run_import()
    run_import(schedule_time=LATER)
    run_import(schedule_time=LATER, outcome=StatusRole.CANCELED)

    assert notifications_of(organization) == []


def test_an_import_for_a_known_lead_moves_its_touch_point_and_status_and_keeps_its_source(
    organization: Organization, api: ApiClient, run_import: Import
) -> None:
    lead_id = api.submit(source="WEBINAR").json()["data"]["lead_id"]

    run_import(lead_first_name="Augusta")

    lead = api.get_lead(lead_id)
    assert lead["first_name"] == "Ada"
    assert (lead["first_source"]["name"], lead["last_source"]["name"]) == ("WEBINAR", "WEBINAR")
    assert (lead["status"]["role"], lead["next_touch_point_type"]) == ("APPOINTMENT_BOOKED", "APPOINTMENT")
    assert events_of(organization) == [
        "appointment.created",
        "lead.created",
        "lead.status_changed",
        "opt_in.created",
    ]


def test_a_reference_that_the_api_or_another_provider_uses_is_another_appointment(
    organization: Organization, api: ApiClient, run_import: Import
) -> None:
    ids = {api.book(external_reference="ref-1").json()["data"]["id"]}

    ids |= {str(run_import(provider=provider).id) for provider in Provider}

    assert len(ids) == 4
    assert summary_of(organization)["appointments"] == 4


@pytest.mark.parametrize("time", [NEXT_YEAR, LAST_YEAR])
@pytest.mark.parametrize("outcome", list(StatusRole))
def test_an_identical_repeat_changes_nothing(
    organization: Organization, host: Membership, run_import: Import, time: datetime, outcome: StatusRole
) -> None:
    fields = {"schedule_time": time, "outcome": outcome, "host_email": host.user.email, "notes": "A note"}
    first = run_import(**fields)
    before = snapshot_of(organization)

    repeat = run_import(**fields)

    assert (repeat.id, repeat.is_new) == (first.id, False)
    assert snapshot_of(organization) == before


def test_a_past_appointment_sets_no_touch_point_and_books_no_lead(
    organization: Organization, run_import: Import
) -> None:
    appointment = stored(organization, run_import(schedule_time=LAST_YEAR))

    assert (appointment.schedule_time, appointment.lead.next_touch_point_at) == (LAST_YEAR, None)
    assert appointment.lead.status.role == StatusRole.NEW_LEAD


def test_a_past_no_show_is_booked_and_then_a_no_show(organization: Organization, run_import: Import) -> None:
    appointment = stored(organization, run_import(schedule_time=LAST_YEAR, outcome=StatusRole.NO_SHOW))

    assert (appointment.no_show, appointment.invitation_sequence) == (True, 0)
    assert [role for role, _ in outcome_history(organization)] == ["APPOINTMENT_BOOKED", "NO_SHOW"]
    assert events_of(organization) == ["appointment.created", "appointment.outcome_changed", "lead.created"]


def test_an_appointment_that_is_new_and_canceled_has_all_effects_of_a_cancellation(
    organization: Organization, run_import: Import
) -> None:
    appointment = stored(organization, run_import(outcome=StatusRole.CANCELED))

    assert (appointment.meeting_url, appointment.lead.next_touch_point_at) == (None, None)
    assert appointment.lead.status.role == StatusRole.CANCELED
    assert [role for role, _ in outcome_history(organization)] == ["APPOINTMENT_BOOKED", "CANCELED"]
    assert events_of(organization) == ["appointment.canceled", *BOOKED, "lead.status_changed"]


def test_another_time_reschedules_the_appointment(organization: Organization, run_import: Import) -> None:
    first = run_import()

    moved = run_import(schedule_time=LATER)

    appointment = stored(organization, moved)
    assert (moved.id, moved.is_new) == (first.id, False)
    assert (appointment.schedule_time, appointment.lead.next_touch_point_at) == (LATER, LATER)
    assert appointment.meeting_url == "https://meet.example/1"
    assert events_of(organization) == ["appointment.created", "appointment.rescheduled", "lead.created", "lead.updated"]


def test_another_time_books_a_canceled_appointment_and_its_lead_again(
    organization: Organization, run_import: Import
) -> None:
    run_import(outcome=StatusRole.CANCELED)

    appointment = stored(organization, run_import(schedule_time=LATER))

    assert appointment.lead.status.role == StatusRole.APPOINTMENT_BOOKED
    assert (appointment.outcome.role, appointment.meeting_url) == ("APPOINTMENT_BOOKED", "https://meet.example/1")
    assert "appointment.rescheduled" in events_of(organization)


def test_a_cancellation_by_the_provider_stands_above_what_staff_have_set(
    organization: Organization, run_import: Import
) -> None:
    booking = run_import()
    change_as_staff(organization, edit_appointment, booking, status_id=status_id(organization, StatusRole.FOLLOW_UP))

    run_import(outcome=StatusRole.CANCELED, notes="Lead is ill")

    appointment = stored(organization, booking)
    assert (appointment.outcome.role, appointment.meeting_url) == ("CANCELED", None)
    assert appointment.notes.get().note == "Lead is ill"


@pytest.mark.parametrize("provider_outcome", list(StatusRole))
def test_a_repeat_keeps_the_outcome_that_staff_have_set_since(
    organization: Organization, run_import: Import, provider_outcome: StatusRole
) -> None:
    booking = run_import(outcome=provider_outcome)
    by_staff = StatusRole.FOLLOW_UP if provider_outcome == StatusRole.WON else StatusRole.WON
    change_as_staff(organization, edit_appointment, booking, status_id=status_id(organization, by_staff))
    before = snapshot_of(organization)

    run_import(outcome=provider_outcome)

    assert snapshot_of(organization) == before


def test_a_repeat_keeps_the_outcome_of_an_update_since(
    organization: Organization, run_import: Import, api: ApiClient
) -> None:
    """A34"""
    booking = run_import()
    api.patch(f"/api/external/appointments/{booking.id}", {"outcome_role": "WON"})
    before = snapshot_of(organization)

    run_import()

    assert snapshot_of(organization) == before


def test_a_repeat_keeps_the_cancellation_by_staff(organization: Organization, run_import: Import) -> None:
    booking = run_import()
    change_as_staff(organization, cancel_appointment, booking)
    before = snapshot_of(organization)

    run_import()

    assert snapshot_of(organization) == before


def test_a_canceled_appointment_that_the_provider_books_again_is_booked(
    organization: Organization, run_import: Import
) -> None:
    run_import(outcome=StatusRole.CANCELED)

    appointment = stored(organization, run_import())

    assert (appointment.outcome.role, appointment.meeting_url) == ("APPOINTMENT_BOOKED", "https://meet.example/1")
    assert appointment.lead.next_touch_point_at == NEXT_YEAR


def test_the_provider_moves_an_appointment_back_that_staff_have_rescheduled(
    organization: Organization, run_import: Import
) -> None:
    booking = run_import()
    change_as_staff(organization, reschedule, booking, to=LATER)

    run_import()

    assert stored(organization, booking).schedule_time == NEXT_YEAR


def test_another_member_and_meeting_url_replace_the_stored_ones(
    organization: Organization, host: Membership, run_import: Import
) -> None:
    booking = run_import()

    run_import(host_email=host.user.email, meeting_url="https://meet.example/2")

    appointment = stored(organization, booking)
    assert (appointment.host, appointment.meeting_url) == (host, "https://meet.example/2")
    assert events_of(organization) == ["appointment.created", "appointment.updated", "lead.created"]


def test_a_field_that_the_provider_does_not_send_is_kept(
    organization: Organization, host: Membership, run_import: Import
) -> None:
    booking = run_import(host_email=host.user.email)
    fields = {"lead_email": "ada@example.com", "event_type_name": "Strategy call"}

    import_appointment(
        organization=organization,
        actor=SYNC,
        provider=Provider.SCHEDULER_A,
        external_reference="ref-1",
        schedule_time=NEXT_YEAR,
        **fields,
    )

    appointment = stored(organization, booking)
    assert (appointment.host, appointment.meeting_url) == (host, "https://meet.example/1")


def test_a_refused_import_changes_nothing(organization: Organization, run_import: Import) -> None:
    Status.objects.of(organization).filter(role=StatusRole.WON).delete()
    before = snapshot_of(organization)

    with pytest.raises(ValidationFailed):
        run_import(host_email="nobody@acme.example")
    with pytest.raises(ValidationFailed):
        run_import(outcome=StatusRole.WON)

    assert snapshot_of(organization) == before


@pytest.mark.django_db(transaction=True)
def test_simultaneous_imports_of_one_reference_create_one_appointment(
    organization: Organization, run_import: Import
) -> None:
    bookings = run_concurrently(None, *[lambda _: run_import() for _ in range(THREADS)])

    assert len({booking.id for booking in bookings}) == 1
    assert sum(booking.is_new for booking in bookings) == 1
    assert events_of(organization) == BOOKED


@pytest.mark.django_db(transaction=True)
def test_simultaneous_cancellations_by_the_provider_record_one_event(
    organization: Organization, run_import: Import
) -> None:
    for number in range(3):
        run_import(external_reference=f"ref-{number}", lead_email=f"lead{number}@example.com")
        cancel = {"external_reference": f"ref-{number}", "outcome": StatusRole.CANCELED}
        run_concurrently(None, *[lambda _, cancel=cancel: run_import(**cancel) for _ in range(THREADS)])

    assert events_of(organization).count("appointment.canceled") == 3


@pytest.mark.django_db(transaction=True)
def test_an_import_that_waits_for_an_erasure_changes_nothing(organization: Organization, run_import: Import) -> None:
    erased = stored(organization, run_import())
    bookings: list[Booking] = []

    def run() -> None:
        bookings.append(run_import(notes="Is ill"))
        connections.close_all()

    with transaction.atomic():
        request_erasure(organization=organization, actor=SYNC, lead_id=erased.lead_id)
        thread = Thread(target=run)
        thread.start()
        thread.join(timeout=1)
        assert bookings == []
    thread.join(timeout=30)

    assert [(booking.id, booking.is_new, booking.is_applied) for booking in bookings] == [(erased.pk, False, False)]
    assert not Note.objects.of(organization).exists()
