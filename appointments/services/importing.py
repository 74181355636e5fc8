"""The service that a scheduling provider's sync calls."""

from typing import Unpack

from appointments.models import Appointment, AppointmentSource, OutcomeChange, Provider
from appointments.services.booking import Booking, BookingData, find_or_book, resolve_members
from appointments.services.changes import (
    add_note,
    cancel,
    get_for_update,
    move,
    replace_outcome,
    role_of,
    save_appointment,
)
from foundation.api.exceptions import ValidationFailed
from foundation.db.retry import atomic_with_retry
from organizations.actors import Actor, ActorKind
from organizations.models import Organization
from statuses.models import Board, StatusRole
from statuses.services import default_status


@atomic_with_retry
def import_appointment(
    *,
    organization: Organization,
    actor: Actor,
    provider: Provider,
    outcome: StatusRole = StatusRole.APPOINTMENT_BOOKED,
    **data: Unpack[BookingData],
) -> Booking:
    """Create an appointment as a scheduling provider reports it, or update the one with its reference.

    A new one is booked as `book` does it, then gets the outcome; if it is over, its lead keeps its status. A known one
    gets the provider's time, outcome, members, meeting URL and new notes; its lead and event type stay. An outcome that
    others have set is replaced only when the provider's own has changed. Repeating the call changes nothing. Notifies
    no one, because providers send their own invitations. Raises ValidationFailed as `book` does, and if no status is
    the default for `outcome`. Locks the appointment, then its lead.
    """
    source = AppointmentSource(provider)
    booking = find_or_book(organization, actor, source, data, invites=False)
    appointment = get_for_update(organization, booking.id)
    if not booking.is_new and appointment.external_reference is None:
        # Its lead was erased during the wait for the lock, so the reference is free again.
        booking = find_or_book(organization, actor, source, data, invites=False)
        appointment = get_for_update(organization, booking.id)
    previous = appointment.outcome
    note = add_note(appointment, data.get("notes", ""), actor)
    if outcome != StatusRole.CANCELED:
        follow_provider(appointment, outcome, data)
    elif last_imported_role(appointment) != outcome:
        cancel(appointment)
    save_appointment(appointment, previous, actor, note=note, lead_stays=booking.is_over, notifies=False)
    return booking._replace(schedule_time=appointment.schedule_time)


def follow_provider(appointment: Appointment, role: StatusRole, data: BookingData) -> None:
    organization, previous = appointment.organization, appointment.outcome
    status = default_status(organization, Board.APPOINTMENT, role)
    if status is None:
        raise ValidationFailed({"outcome": ["has no default status on the appointment board"]})

    schedule_time = data["schedule_time"]
    is_moved = schedule_time != appointment.schedule_time
    is_new_outcome = last_imported_role(appointment) != role
    for name, member in resolve_members(organization, data).items():
        setattr(appointment, name, member)
    # A repeat must not bring back the meeting URL of an appointment that staff have canceled.
    if "meeting_url" in data and (role_of(previous) != StatusRole.CANCELED or is_moved or is_new_outcome):
        appointment.meeting_url = data["meeting_url"]
    if is_moved:
        move(appointment, schedule_time)
    if is_new_outcome or appointment.outcome != previous:
        replace_outcome(appointment, status)


def last_imported_role(appointment: Appointment) -> str | None:
    """Return the role of the newest outcome that the sync has set: the provider's last one."""
    changes = OutcomeChange.objects.of(appointment.organization).filter(appointment=appointment)
    imported = changes.filter(actor_kind=ActorKind.SYSTEM).order_by("-created_at", "-id")
    return imported.values_list("to_status__role", flat=True).first()
