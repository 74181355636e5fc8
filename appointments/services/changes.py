"""What staff change: times, outcomes, facts, notes, event types and analyses."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import ProtectedError

from appointments.events import OUTCOME_CHANGED, RESCHEDULED
from appointments.models import Appointment, CallAnalysis, EventType
from appointments.notices import latest_note, notify
from appointments.services.canceling import write_cancellation
from appointments.services.steps import BOOKED_CALL, BOOKED_LEAD, add_note, brief, locked, set_outcome, settle_lead
from leads.services import known_lead
from notifications.models import Kind
from organizations.actors import Actor
from organizations.models import Membership, Organization
from pipeline_backend.api.exceptions import Conflict
from pipeline_backend.moments import now, show
from pipeline_backend.rows import settle_race
from statuses.models import Board, Role
from statuses.services import defaults, status_for
from webhooks.services import record


class EventTypeInUse(Conflict):
    """Calls were booked with it."""

    message = "Calls are booked as {name}, so it stays"


def reschedule(*, organization: Organization, actor: Actor, appointment: Appointment, to: datetime) -> Appointment:
    """Move a call to another time (staff). A canceled or missed call is booked again by it."""

    def attempt() -> Appointment:
        stored = locked(organization, appointment)
        if stored.schedule_time != to:
            write_move(stored, to, actor)
        return stored

    return settle_race(attempt)


def write_move(appointment: Appointment, to: datetime, actor: Actor) -> None:
    """The move of a locked appointment."""
    statuses = defaults(appointment.organization, BOOKED_LEAD, BOOKED_CALL)
    previous = {"schedule_time": show(appointment.schedule_time)}
    appointment.schedule_time = to
    appointment.invitation_sequence += 1
    is_over = appointment.outcome is None or appointment.outcome.role in (Role.CANCELED, Role.NO_SHOW)
    set_outcome(appointment, statuses[BOOKED_CALL] if is_over else appointment.outcome, actor)
    appointment.lead = known_lead(organization=appointment.organization, lead_id=appointment.lead_id)
    settle_lead(appointment.lead, statuses[BOOKED_LEAD] if is_over else None, actor)
    record(RESCHEDULED, appointment, actor=actor, previous=previous)
    notify(Kind.CALL_RESCHEDULED, appointment, latest_note(appointment))


def change_outcome(*, organization: Organization, actor: Actor, appointment: Appointment, status_id: UUID) -> Appointment:
    """Move an appointment to any status of its board (staff, decision 21); to a canceled one, it is canceled."""

    def attempt() -> Appointment:
        stored = locked(organization, appointment)
        status = status_for(organization, Board.APPOINTMENT, status_id)
        if status == stored.outcome:
            return stored
        if status.role == Role.CANCELED:
            return write_cancellation(stored, actor, "", outcome=status)
        previous = {"outcome": brief(stored.outcome), "no_show": stored.no_show}
        set_outcome(stored, status, actor)
        stored.lead = known_lead(organization=organization, lead_id=stored.lead_id)
        settle_lead(stored.lead, None, actor)
        record(OUTCOME_CHANGED, stored, actor=actor, previous=previous)
        return stored

    return settle_race(attempt)


def edit_appointment(*, organization: Organization, actor: Actor, appointment: Appointment, **facts: Any) -> Appointment:
    """Change people, addresses, type or custom values (staff); time and outcome have their own services."""

    def attempt() -> Appointment:
        stored = locked(organization, appointment)
        for name, value in facts.items():
            setattr(stored, name, value)
        stored.updated_at = now()
        stored.save(update_fields=[*facts, "updated_at"])
        return stored

    return settle_race(attempt)


@transaction.atomic
def write_note(*, organization: Organization, actor: Actor, appointment: Appointment, text: str, mentions: list[Membership]) -> None:
    """Add a note by hand (staff)."""
    add_note(locked(organization, appointment), text, actor=actor, mentions=mentions)


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
