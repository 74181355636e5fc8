"""What staff change: times, outcomes, facts, notes, event types and analyses."""

from datetime import datetime
from typing import Any
from uuid import UUID

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
from appointments.services.cancellation import apply_cancellation
from appointments.topics import OUTCOME_CHANGED, RESCHEDULED
from leads.services import get_lead_for_update
from notifications.models import Kind
from organizations.actors import Actor
from organizations.models import Membership, Organization
from pipeline_backend.api.exceptions import Conflict
from pipeline_backend.db.retry import atomic_with_retry
from pipeline_backend.db.timestamps import isoformat_z, now
from statuses.models import Board, Role
from statuses.services import default_statuses, get_board_status
from webhooks.services import record_event


class EventTypeInUse(Conflict):
    """Calls were booked with it."""

    message = "Calls are booked as {name}, so it stays"


def reschedule(*, organization: Organization, actor: Actor, appointment: Appointment, to: datetime) -> Appointment:
    """Move a call to another time (staff). A canceled or missed call is booked again by it."""

    def attempt() -> Appointment:
        stored = get_for_update(organization, appointment)
        if stored.schedule_time != to:
            apply_new_time(stored, to, actor)
        return stored

    return atomic_with_retry(attempt)


def apply_new_time(appointment: Appointment, to: datetime, actor: Actor) -> None:
    """The move of a locked appointment."""
    statuses = default_statuses(appointment.organization, BOOKED_LEAD, BOOKED_APPOINTMENT)
    previous = {"schedule_time": isoformat_z(appointment.schedule_time)}
    appointment.schedule_time = to
    appointment.invitation_sequence += 1
    is_over = appointment.outcome is None or appointment.outcome.role in (Role.CANCELED, Role.NO_SHOW)
    set_outcome(appointment, statuses[BOOKED_APPOINTMENT] if is_over else appointment.outcome, actor)
    appointment.lead = get_lead_for_update(organization=appointment.organization, lead_id=appointment.lead_id)
    update_lead_after_change(appointment.lead, statuses[BOOKED_LEAD] if is_over else None, actor)
    record_event(RESCHEDULED, appointment, actor=actor, previous=previous)
    notify_participants(Kind.CALL_RESCHEDULED, appointment, latest_note(appointment))


def change_outcome(
    *, organization: Organization, actor: Actor, appointment: Appointment, status_id: UUID
) -> Appointment:
    """Move an appointment to any status of its board (staff, decision 21); to a canceled one, it is canceled."""

    def attempt() -> Appointment:
        stored = get_for_update(organization, appointment)
        status = get_board_status(organization, Board.APPOINTMENT, status_id)
        if status == stored.outcome:
            return stored
        if status.role == Role.CANCELED:
            return apply_cancellation(stored, actor, "", outcome=status)
        previous = {"outcome": status_summary(stored.outcome), "no_show": stored.no_show}
        set_outcome(stored, status, actor)
        stored.lead = get_lead_for_update(organization=organization, lead_id=stored.lead_id)
        update_lead_after_change(stored.lead, None, actor)
        record_event(OUTCOME_CHANGED, stored, actor=actor, previous=previous)
        return stored

    return atomic_with_retry(attempt)


def edit_appointment(
    *, organization: Organization, actor: Actor, appointment: Appointment, **facts: Any
) -> Appointment:
    """Change people, addresses, type or custom values (staff); time and outcome have their own services."""

    def attempt() -> Appointment:
        stored = get_for_update(organization, appointment)
        for name, value in facts.items():
            setattr(stored, name, value)
        stored.updated_at = now()
        stored.save(update_fields=[*facts, "updated_at"])
        return stored

    return atomic_with_retry(attempt)


@transaction.atomic
def create_note(
    *, organization: Organization, actor: Actor, appointment: Appointment, text: str, mentions: list[Membership]
) -> None:
    """Add a note by hand (staff)."""
    add_note(get_for_update(organization, appointment), text, actor=actor, mentions=mentions)


@transaction.atomic
def save_event_type(*, organization: Organization, event_type: EventType) -> EventType:
    """Store a new or changed event type (staff); calls that are booked keep their category."""
    event_type.organization = organization
    event_type.save()
    return event_type


@transaction.atomic
def delete_event_type(*, organization: Organization, event_type: EventType) -> None:
    """Delete an event type that no call has."""
    try:
        EventType.objects.of(organization).get(pk=event_type.pk).delete()
    except ProtectedError:
        raise EventTypeInUse(name=event_type.name) from None


@transaction.atomic
def save_analysis(*, organization: Organization, analysis: CallAnalysis) -> CallAnalysis:
    """Store what the analysis platform made of a call (staff)."""
    analysis.organization = organization
    analysis.save()
    return analysis
