"""The services that staff use: rescheduling, outcomes, edits, notes, event types and call analyses."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import ProtectedError

from appointments.models import Appointment, CallAnalysis, EventType
from appointments.notifications import latest_note, notify_participants
from appointments.services._shared import (
    BOOKED_APPOINTMENT,
    BOOKED_LEAD,
    add_note,
    get_for_update,
    set_outcome,
    status_summary,
    update_lead_after_change,
)
from appointments.services.cancellation import cancel_and_notify
from appointments.topics import OUTCOME_CHANGED, RESCHEDULED
from leads.services import get_lead_for_update
from notifications.models import Kind
from organizations.actors import Actor
from organizations.limits import LimitReached, can_add_row
from organizations.models import Membership, Organization
from pipeline_backend.api.exceptions import Conflict
from pipeline_backend.db.retry import atomic_with_retry
from pipeline_backend.db.timestamps import isoformat_z, now
from statuses.models import Board, Status, StatusRole
from statuses.services import default_statuses, get_board_status
from webhooks.services import record_event


class EventTypeInUse(Conflict):
    """Appointments refer to the event type, so it can't be deleted."""

    message = "{name} can't be deleted because appointments use it"


def reschedule(*, organization: Organization, actor: Actor, appointment: Appointment, to: datetime) -> Appointment:
    """Move an appointment to another time, and return it. The same time changes nothing.

    An appointment that was canceled, was missed or has no outcome becomes booked again, and so does its lead
    (docs/interface.md, A28). Locks the appointment, then its lead.
    """

    def attempt() -> Appointment:
        stored = get_for_update(organization, appointment)
        if stored.schedule_time != to:
            move(stored, to, actor)
            notify_participants(Kind.CALL_RESCHEDULED, stored, latest_note(stored))
        return stored

    return atomic_with_retry(attempt)


def move(appointment: Appointment, to: datetime, actor: Actor) -> None:
    """Reschedule a locked appointment. Locks its lead."""
    statuses = default_statuses(appointment.organization, BOOKED_LEAD, BOOKED_APPOINTMENT)
    previous = {"schedule_time": isoformat_z(appointment.schedule_time)}
    outcome = appointment.outcome
    appointment.schedule_time = to
    # A higher sequence tells calendars that this supersedes the invitation they have (RFC 5546).
    appointment.invitation_sequence += 1
    is_rebooked = outcome is None or outcome.role in (StatusRole.CANCELED, StatusRole.NO_SHOW)
    set_outcome(appointment, statuses[BOOKED_APPOINTMENT] if is_rebooked else outcome, actor)
    appointment.lead = get_lead_for_update(organization=appointment.organization, lead_id=appointment.lead_id)
    update_lead_after_change(appointment.lead, statuses[BOOKED_LEAD] if is_rebooked else None, actor)
    record_event(RESCHEDULED, appointment, actor=actor, previous=previous)


def change_outcome(
    *, organization: Organization, actor: Actor, appointment: Appointment, status_id: UUID
) -> Appointment:
    """Set an appointment's outcome to any status of its board, and return it. The same status changes nothing.

    A status with the role CANCELED cancels the appointment, with all effects of a cancellation.
    Raises ValidationFailed if the status is unknown or not of the board. Locks the appointment, then its lead.
    """

    def attempt() -> Appointment:
        stored = get_for_update(organization, appointment)
        outcome = get_board_status(organization, Board.APPOINTMENT, status_id)
        if outcome == stored.outcome:
            return stored
        if outcome.role == StatusRole.CANCELED:
            cancel_and_notify(stored, actor, "", outcome=outcome)
        else:
            replace_outcome(stored, outcome, actor)
        return stored

    return atomic_with_retry(attempt)


def replace_outcome(appointment: Appointment, outcome: Status, actor: Actor) -> None:
    """Set an outcome that is not canceled on a locked appointment. Locks its lead."""
    previous = {"outcome": status_summary(appointment.outcome), "no_show": appointment.no_show}
    set_outcome(appointment, outcome, actor)
    # An appointment that is no longer canceled counts for the lead's touch point again.
    appointment.lead = get_lead_for_update(organization=appointment.organization, lead_id=appointment.lead_id)
    update_lead_after_change(appointment.lead, None, actor)
    record_event(OUTCOME_CHANGED, appointment, actor=actor, previous=previous)


def edit_appointment(
    *, organization: Organization, actor: Actor, appointment: Appointment, **fields: Any
) -> Appointment:
    """Change members, URLs, event type, category or custom field values, and return the appointment. Locks it.

    Time and outcome have services of their own, because their changes affect the lead and notify people.
    """

    def attempt() -> Appointment:
        stored = get_for_update(organization, appointment)
        for name, value in fields.items():
            setattr(stored, name, value)
        stored.updated_at = now()
        stored.save(update_fields=[*fields, "updated_at"])
        return stored

    return atomic_with_retry(attempt)


@transaction.atomic
def create_note(
    *, organization: Organization, actor: Actor, appointment: Appointment, text: str, mentions: list[Membership]
) -> None:
    """Store a note, unless the appointment has the same one. Locks the appointment."""
    add_note(get_for_update(organization, appointment), text, actor=actor, mentions=mentions)


@transaction.atomic
def save_event_type(*, organization: Organization, event_type: EventType) -> EventType:
    """Store a new or changed event type and return it. Booked appointments keep their category.

    For a new one, locks the organization, and raises LimitReached if it has `MAX_EVENT_TYPES` event types.
    """
    event_types = EventType.objects.of(organization)
    limit = settings.MAX_EVENT_TYPES
    if event_type._state.adding and not can_add_row(organization=organization, rows=event_types, limit=limit):
        advice = "Delete one that no appointment uses first."
        raise LimitReached(limit=limit, rows="event types", advice=advice)
    event_type.organization = organization
    event_type.save()
    return event_type


@transaction.atomic
def delete_event_type(*, organization: Organization, event_type: EventType) -> None:
    """Delete an event type. Raises EventTypeInUse if an appointment refers to it."""
    try:
        EventType.objects.of(organization).get(pk=event_type.pk).delete()
    except ProtectedError:
        raise EventTypeInUse(name=event_type.name) from None


@transaction.atomic
def save_analysis(*, organization: Organization, analysis: CallAnalysis) -> CallAnalysis:
    """Store a new or changed call analysis and return it."""
    analysis.organization = organization
    analysis.save()
    return analysis
