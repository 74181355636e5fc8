"""The services that change booked appointments: cancellation, rescheduling, outcomes, other fields and notes."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from appointments.models import Appointment, AppointmentSource, Note, OutcomeChange
from appointments.notifications import notify_mentioned, notify_participants
from appointments.topics import CANCELED, OUTCOME_CHANGED, RESCHEDULED
from leads.models import Lead
from leads.services import follow_appointments, get_lead_for_update
from notifications.models import Kind
from organizations.actors import Actor, actor_columns
from organizations.models import Membership, Organization
from pipeline_backend.api.exceptions import Conflict, ResourceNotFound
from pipeline_backend.db.retry import atomic_with_retry
from pipeline_backend.db.timestamps import isoformat_z, now
from statuses.models import Board, Status, StatusRole
from statuses.services import default_status, get_board_status, status_summary
from webhooks.services import record_event


@atomic_with_retry
def cancel_by_reference(
    *, organization: Organization, actor: Actor, external_reference: str, notes: str = ""
) -> Appointment:
    """Cancel an appointment that was booked through the API. Repeating it is safe.

    Raises ResourceNotFound if the reference is unknown, and Conflict if a scheduler manages the appointment
    (docs/interface.md, A22). Locks the appointment, then its lead.
    """
    appointments = Appointment.objects.of(organization).filter(external_reference=external_reference)
    appointment: Appointment | None = appointments.manual().for_update().first()
    if appointment is None:
        other = appointments.exclude(source=AppointmentSource.MANUAL).first()
        if other is None:
            raise ResourceNotFound(f"No appointment found for external_reference {external_reference}")
        problem = f"is managed by {other.source}; cancel it there"
        raise Conflict(f"The appointment for external_reference {external_reference} {problem}")
    appointment.organization = organization
    cancel_and_notify(appointment, actor, notes)
    return appointment


@atomic_with_retry
def cancel_appointment(
    *, organization: Organization, actor: Actor, appointment: Appointment, notes: str = ""
) -> Appointment:
    """Cancel any appointment for staff, a scheduler's too. Repeating it is safe. Locks it, then its lead."""
    stored = get_for_update(organization, appointment.pk)
    cancel_and_notify(stored, actor, notes)
    return stored


@atomic_with_retry
def reschedule(*, organization: Organization, actor: Actor, appointment: Appointment, to: datetime) -> Appointment:
    """Move an appointment to another time, and return it. The same time changes nothing.

    An appointment that was canceled, was missed or has no outcome becomes booked again, and so does its lead
    (docs/interface.md, A28). Locks the appointment, then its lead.
    """
    stored = get_for_update(organization, appointment.pk)
    if stored.schedule_time != to:
        move(stored, to, actor)
        notify_participants(Kind.CALL_RESCHEDULED, stored)
    return stored


@atomic_with_retry
def change_outcome(
    *, organization: Organization, actor: Actor, appointment: Appointment, status_id: UUID
) -> Appointment:
    """Set an appointment's outcome to any status of its board, and return it. The same status changes nothing.

    A status with the role CANCELED cancels the appointment, with all effects of a cancellation.
    Raises ValidationFailed if the status is unknown or not of the board. Locks the appointment, then its lead.
    """
    stored = get_for_update(organization, appointment.pk)
    outcome = get_board_status(organization, Board.APPOINTMENT, status_id)
    if outcome.role == StatusRole.CANCELED and outcome != stored.outcome:
        cancel_and_notify(stored, actor, "", outcome)
    elif outcome != stored.outcome:
        replace_outcome(stored, outcome, actor)
    return stored


@atomic_with_retry
def edit_appointment(
    *, organization: Organization, actor: Actor, appointment: Appointment, **fields: Any
) -> Appointment:
    """Change members, URLs, event type, category or custom field values, and return the appointment. Locks it.

    Time and outcome have services of their own, because their changes affect the lead and notify people.
    """
    stored = get_for_update(organization, appointment.pk)
    set_fields(stored, fields)
    return stored


@transaction.atomic
def create_note(
    *, organization: Organization, actor: Actor, appointment: Appointment, text: str, mentions: list[Membership]
) -> None:
    """Store a note, unless the appointment has the same one. Locks the appointment."""
    add_note(get_for_update(organization, appointment.pk), text, actor, mentions)


# The steps of these services and of the import. They expect the appointment to be locked, and lock its lead.


def get_for_update(organization: Organization, appointment_id: UUID) -> Appointment:
    """Return the appointment as it is stored now, and lock its row. Raises DoesNotExist for another organization's."""
    stored: Appointment = Appointment.objects.of(organization).for_update().get(pk=appointment_id)
    stored.organization = organization
    return stored


def cancel_and_notify(appointment: Appointment, actor: Actor, notes: str, outcome: Status | None = None) -> None:
    """Cancel an appointment as `cancel` does, store the notes, and notify its participants if it changed."""
    add_note(appointment, notes, actor)
    if cancel(appointment, actor, outcome):
        notify_participants(Kind.CALL_CANCELED, appointment)


def cancel(appointment: Appointment, actor: Actor, outcome: Status | None = None) -> bool:
    """Cancel an appointment, and return whether that changed it.

    `outcome` is the canceled status to set; by default the appointment keeps its own, or gets the default one.
    """
    stored = appointment.outcome
    if stored and stored.role == StatusRole.CANCELED and outcome is None:
        outcome = stored
    # A repeated cancellation changes nothing and notifies nobody, unless there is a meeting URL to remove again.
    if outcome is not None and outcome == stored and appointment.meeting_url is None:
        return False

    organization = appointment.organization
    # The event's `previous` has only the values that the cancellation removes.
    previous: dict[str, object] = {}
    if stored and stored != outcome:
        previous["outcome"] = status_summary(stored)
    if appointment.meeting_url is not None:
        previous["meeting_url"] = appointment.meeting_url
    appointment.meeting_url = None
    set_outcome(appointment, outcome or default_status(organization, Board.APPOINTMENT, StatusRole.CANCELED), actor)
    lock_and_update_lead(appointment, default_status(organization, Board.LEAD, StatusRole.CANCELED), actor)
    record_event(CANCELED, appointment, actor=actor, previous=previous)
    return True


def move(appointment: Appointment, to: datetime, actor: Actor) -> None:
    """Move an appointment to another time. A canceled or missed one and its lead become booked again."""
    previous = {"schedule_time": isoformat_z(appointment.schedule_time)}
    appointment.booked_for = appointment.booked_for or appointment.schedule_time
    appointment.schedule_time = to
    outcome, lead_status = appointment.outcome, None
    if outcome is None or outcome.role in (StatusRole.CANCELED, StatusRole.NO_SHOW):
        outcome = default_status(appointment.organization, Board.APPOINTMENT, StatusRole.APPOINTMENT_BOOKED)
        lead_status = default_status(appointment.organization, Board.LEAD, StatusRole.APPOINTMENT_BOOKED)
    set_outcome(appointment, outcome, actor)
    lock_and_update_lead(appointment, lead_status, actor)
    record_event(RESCHEDULED, appointment, actor=actor, previous=previous)


def replace_outcome(appointment: Appointment, outcome: Status, actor: Actor) -> None:
    """Set an outcome other than canceled."""
    previous = {"outcome": status_summary(appointment.outcome), "no_show": appointment.no_show}
    set_outcome(appointment, outcome, actor)
    # An appointment that is no longer canceled counts for the lead's touch point again.
    lock_and_update_lead(appointment, None, actor)
    record_event(OUTCOME_CHANGED, appointment, actor=actor, previous=previous)


def set_outcome(appointment: Appointment, outcome: Status | None, actor: Actor) -> None:
    """Store the outcome with its history row, and the times and meeting URL that the caller has changed."""
    previous, organization = appointment.outcome, appointment.organization
    appointment.outcome = outcome
    appointment.no_show = outcome is not None and outcome.role == StatusRole.NO_SHOW
    appointment.updated_at = now()
    times = ["schedule_time", "booked_for", "updated_at"]
    appointment.save(update_fields=["outcome", "no_show", "meeting_url", *times])
    if outcome is not None and outcome != previous:
        OutcomeChange.objects.create(
            organization=organization,
            appointment=appointment,
            from_status=previous,
            to_status=outcome,
            **actor_columns(actor),
        )


def lock_and_update_lead(appointment: Appointment, status: Status | None, actor: Actor) -> None:
    """Lock the lead of a changed appointment and update it as `update_lead` does."""
    appointment.lead = get_lead_for_update(organization=appointment.organization, lead_id=appointment.lead_id)
    update_lead(appointment.lead, status, actor)


def update_lead(lead: Lead, status: Status | None, actor: Actor) -> None:
    """Update the touch point and status of a locked lead after one of its appointments was booked or changed.

    With None the status stays. It also stays when an appointment was canceled but another one is upcoming
    (docs/interface.md, S9).
    """
    appointments = Appointment.objects.of(lead.organization).filter(lead=lead).upcoming()
    upcoming = appointments.order_by("schedule_time").values_list("schedule_time", flat=True).first()
    stays_booked = upcoming is not None and status is not None and status.role == StatusRole.CANCELED
    follow_appointments(lead, actor=actor, next_appointment=upcoming, status=None if stays_booked else status)


def set_fields(appointment: Appointment, fields: dict[str, Any]) -> None:
    """Store these fields, and only these."""
    for name, value in fields.items():
        setattr(appointment, name, value)
    appointment.updated_at = now()
    appointment.save(update_fields=[*fields, "updated_at"])


def add_note(appointment: Appointment, text: str, actor: Actor, mentions: list[Membership] | None = None) -> None:
    """Store a note, unless it is empty or the appointment has the same one."""
    notes = Note.objects.of(appointment.organization).filter(appointment=appointment, note=text)
    # The comparison makes canceling safe to repeat: the repeated request brings the same text.
    if not text or notes.exists():
        return
    note = Note.objects.create(
        organization=appointment.organization, appointment=appointment, note=text, **actor_columns(actor)
    )
    if mentions:
        note.mention_users.set(mentions)
        notify_mentioned(note, mentions, actor)
