"""The service that a scheduling provider's sync calls."""

from datetime import datetime
from typing import Unpack

from appointments.models import Appointment, AppointmentSource, OutcomeChange, Provider
from appointments.services.booking import Booking, BookingData, find_or_book, resolve_members
from appointments.services.changes import add_note, cancel, get_for_update, move, replace_outcome, set_fields
from organizations.actors import Actor, ActorKind
from organizations.models import Organization
from pipeline_backend.api.exceptions import ValidationFailed
from pipeline_backend.db.retry import atomic_with_retry
from statuses.models import Board, StatusRole
from statuses.services import default_status


@atomic_with_retry
def import_appointment(
    *,
    organization: Organization,
    actor: Actor,
    provider: Provider,
    external_reference: str,
    schedule_time: datetime,
    outcome: StatusRole = StatusRole.APPOINTMENT_BOOKED,
    **data: Unpack[BookingData],
) -> Booking:
    """Store an appointment as a scheduling provider reports it: create it, or update the one with its reference.

    A new one is booked as `book` does it, also in the past, and then gets the outcome. Of a known one the time, the
    outcome and those of members and meeting URL that `data` names follow the provider, and new notes are added; lead
    and event type stay. An outcome that staff have set is replaced only when the provider's own has changed.
    Repeating the call changes nothing. Records the events of each change; notifies nobody, because providers send
    invitations of their own. Raises ValidationFailed as `book` does, and if no status is the default for `outcome`.
    Locks the appointment, then its lead.
    """
    source = AppointmentSource(provider)
    booking = find_or_book(organization, actor, source, external_reference, schedule_time, data)
    appointment = get_for_update(organization, booking.id)
    update_appointment(appointment, actor, schedule_time, outcome, data)
    return booking._replace(schedule_time=appointment.schedule_time)


def update_appointment(
    appointment: Appointment, actor: Actor, schedule_time: datetime, role: StatusRole, data: BookingData
) -> None:
    """Apply what the provider reports to a locked appointment, and record the events. Locks its lead."""
    organization = appointment.organization
    add_note(appointment, data.get("notes", ""), actor)
    if role == StatusRole.CANCELED:
        if last_imported_role(appointment) != role:
            cancel(appointment, actor)
        return
    status = default_status(organization, Board.APPOINTMENT, role)
    if status is None:
        raise ValidationFailed({"outcome": ["has no default status on the appointment board"]})

    is_moved = schedule_time != appointment.schedule_time
    is_canceled = appointment.outcome is not None and appointment.outcome.role == StatusRole.CANCELED
    fields: dict[str, object] = {**resolve_members(organization, data)}
    # A repeat must not bring back the meeting URL of an appointment that staff have canceled.
    if "meeting_url" in data and (not is_canceled or is_moved or last_imported_role(appointment) != role):
        fields["meeting_url"] = data["meeting_url"]
    changes = {name: value for name, value in fields.items() if value != getattr(appointment, name)}
    if changes:
        set_fields(appointment, changes)
    if is_moved:
        move(appointment, schedule_time, actor)
    if last_imported_role(appointment) != role and status != appointment.outcome:
        replace_outcome(appointment, status, actor)


def last_imported_role(appointment: Appointment) -> str | None:
    """Return the role of the newest outcome that staff have not set, which is the provider's last one."""
    changes = OutcomeChange.objects.of(appointment.organization).filter(appointment=appointment)
    imported = changes.exclude(actor_kind=ActorKind.STAFF).order_by("-created_at", "-id")
    role: str | None = imported.values_list("to_status__role", flat=True).first()
    return role
