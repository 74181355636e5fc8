"""Canceling a call: by its reference or by hand, with the same effects."""

from typing import Any

from appointments.models import Appointment, AppointmentSource
from appointments.notifications import latest_note, notify_participants
from appointments.services._shared import (
    add_note,
    get_for_update,
    set_outcome,
    status_summary,
    update_lead_after_change,
)
from appointments.topics import CANCELED
from leads.services import get_lead_for_update
from notifications.models import Kind
from organizations.actors import Actor
from organizations.models import Organization
from pipeline_backend.api.exceptions import Conflict, ResourceNotFound
from pipeline_backend.db.retry import atomic_with_retry
from statuses.models import Board, Role, Status
from statuses.services import default_statuses
from webhooks.services import record_event

CANCELED_LEAD = (Board.LEAD, Role.CANCELED)
CANCELED_APPOINTMENT = (Board.APPOINTMENT, Role.CANCELED)


class AppointmentNotFound(ResourceNotFound):
    """Nothing to cancel (interface 4.2, rule 3)."""

    message = "No appointment found for external_reference {reference}"


class ManagedByProvider(Conflict):
    """A provider's appointment (decision 23)."""

    message = "The appointment for external_reference {reference} is managed by {provider}; cancel it there"


def cancel(*, organization: Organization, actor: Actor, external_reference: str, notes: str = "") -> Appointment:
    """Cancel a booking made through the interface; safe to repeat (interface 4.2)."""

    def attempt() -> Appointment:
        rows = Appointment.objects.of(organization)
        appointment: Appointment | None = (
            rows.manual().for_update().filter(external_reference=external_reference).first()
        )
        if appointment is None:
            raise why_not_found(organization, external_reference)
        appointment.organization = organization
        return apply_cancellation(appointment, actor, notes)

    return atomic_with_retry(attempt)


def why_not_found(organization: Organization, reference: str) -> Conflict | ResourceNotFound:
    """Why there is nothing here to cancel: a provider has it, or nobody."""
    elsewhere = (
        Appointment.objects.of(organization)
        .filter(external_reference=reference)
        .exclude(source=AppointmentSource.MANUAL)
        .first()
    )
    if elsewhere is None:
        return AppointmentNotFound(reference=reference)
    return ManagedByProvider(reference=reference, provider=elsewhere.source)


def cancel_appointment(
    *, organization: Organization, actor: Actor, appointment: Appointment, notes: str = ""
) -> Appointment:
    """Cancel any appointment by hand (staff), with the same effects."""

    def attempt() -> Appointment:
        return apply_cancellation(get_for_update(organization, appointment), actor, notes)

    return atomic_with_retry(attempt)


def apply_cancellation(
    appointment: Appointment, actor: Actor, notes: str, outcome: Status | None = None
) -> Appointment:
    """The cancellation of a locked appointment; events and mails only if something changes (decision 28)."""
    statuses = default_statuses(appointment.organization, CANCELED_LEAD, CANCELED_APPOINTMENT)
    add_note(appointment, notes, actor=actor)
    is_canceled = (
        appointment.outcome is not None
        and appointment.outcome.role == Role.CANCELED
        and outcome in (None, appointment.outcome)
    )
    if is_canceled and appointment.meeting_url is None:
        return appointment
    previous = previous_values(
        outcome=None if is_canceled else status_summary(appointment.outcome), meeting_url=appointment.meeting_url
    )
    appointment.meeting_url = None
    appointment.invitation_sequence += 1
    set_outcome(appointment, appointment.outcome if is_canceled else outcome or statuses[CANCELED_APPOINTMENT], actor)
    appointment.lead = get_lead_for_update(organization=appointment.organization, lead_id=appointment.lead_id)
    update_lead_after_change(appointment.lead, statuses[CANCELED_LEAD], actor)
    record_event(CANCELED, appointment, actor=actor, previous=previous)
    notify_participants(Kind.CALL_CANCELED, appointment, latest_note(appointment))
    return appointment


def previous_values(**old: Any) -> dict[str, Any]:
    """`previous` of a cancellation: the old values of what it takes away."""
    return {name: value for name, value in old.items() if value is not None}
