"""The services that cancel appointments, by reference or by staff, with the same effects."""

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
from statuses.models import Board, Status, StatusRole
from statuses.services import default_statuses
from webhooks.services import record_event

CANCELED_LEAD = (Board.LEAD, StatusRole.CANCELED)
CANCELED_APPOINTMENT = (Board.APPOINTMENT, StatusRole.CANCELED)


class AppointmentNotFound(ResourceNotFound):
    """No appointment has the reference (docs/interface.md, A22)."""

    message = "No appointment found for external_reference {reference}"


class ManagedByProvider(Conflict):
    """Only a scheduler's appointment has the reference (docs/interface.md, A22)."""

    message = "The appointment for external_reference {reference} is managed by {provider}; cancel it there"


def cancel_by_reference(
    *, organization: Organization, actor: Actor, external_reference: str, notes: str = ""
) -> Appointment:
    """Cancel an appointment that was booked through the API. Repeating it is safe.

    Raises AppointmentNotFound if the reference is unknown, ManagedByProvider if a scheduler manages the appointment.
    Locks the appointment, then its lead.
    """

    def attempt() -> Appointment:
        appointments = Appointment.objects.of(organization).manual().for_update()
        appointment: Appointment | None = appointments.filter(external_reference=external_reference).first()
        if appointment is None:
            raise cancellation_error(organization, external_reference)
        appointment.organization = organization
        cancel_and_notify(appointment, actor, notes)
        return appointment

    return atomic_with_retry(attempt)


def cancellation_error(organization: Organization, reference: str) -> Conflict | ResourceNotFound:
    """Return the error for a reference that no appointment of the API has: a scheduler's has it, or none at all."""
    appointments = Appointment.objects.of(organization).filter(external_reference=reference)
    other = appointments.exclude(source=AppointmentSource.MANUAL).first()
    if other is None:
        return AppointmentNotFound(reference=reference)
    return ManagedByProvider(reference=reference, provider=other.source)


def cancel_appointment(
    *, organization: Organization, actor: Actor, appointment: Appointment, notes: str = ""
) -> Appointment:
    """Cancel any appointment for staff, a scheduler's too. Repeating it is safe. Locks it, then its lead."""

    def attempt() -> Appointment:
        stored = get_for_update(organization, appointment)
        cancel_and_notify(stored, actor, notes)
        return stored

    return atomic_with_retry(attempt)


def cancel_and_notify(appointment: Appointment, actor: Actor, notes: str, outcome: Status | None = None) -> None:
    """Cancel a locked appointment as `apply_cancellation` does, and notify its participants if anything changed."""
    if apply_cancellation(appointment, actor, notes, outcome):
        notify_participants(Kind.CALL_CANCELED, appointment, latest_note(appointment))


def apply_cancellation(appointment: Appointment, actor: Actor, notes: str, outcome: Status | None = None) -> bool:
    """Cancel a locked appointment, and return whether that changed anything but the notes. Locks its lead.

    `outcome` is the canceled status to set; by default the appointment keeps its own, or gets the default one.
    """
    statuses = default_statuses(appointment.organization, CANCELED_LEAD, CANCELED_APPOINTMENT)
    add_note(appointment, notes, actor=actor)

    is_canceled = (
        appointment.outcome is not None
        and appointment.outcome.role == StatusRole.CANCELED
        and outcome in (None, appointment.outcome)
    )
    # A repeated cancellation changes nothing and notifies nobody, unless there is a meeting URL to remove again.
    if is_canceled and appointment.meeting_url is None:
        return False

    # The event's `previous` has only the values that the cancellation removes.
    previous = {
        "outcome": None if is_canceled else status_summary(appointment.outcome),
        "meeting_url": appointment.meeting_url,
    }
    appointment.meeting_url = None
    # A higher sequence tells calendars that this supersedes the invitation they have (RFC 5546).
    appointment.invitation_sequence += 1
    set_outcome(appointment, appointment.outcome if is_canceled else outcome or statuses[CANCELED_APPOINTMENT], actor)
    appointment.lead = get_lead_for_update(organization=appointment.organization, lead_id=appointment.lead_id)
    update_lead_after_change(appointment.lead, statuses[CANCELED_LEAD], actor)
    record_event(
        CANCELED,
        appointment,
        actor=actor,
        previous={name: value for name, value in previous.items() if value is not None},
    )
    return True
