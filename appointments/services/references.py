"""The services that change an appointment by a reference that an integration has given it, now or before a move."""

from datetime import datetime
from typing import Any

from appointments.models import Appointment, AppointmentSource, FormerReference, RememberedCancellation
from appointments.services.changes import add_note, book_again, cancel_with_note, save_appointment, set_values
from appointments.services.remembering import (
    REFERENCE_LOCK,
    REMEMBERED_CANCELLATION,
    cancel_remembered,
    remember_cancellation,
)
from foundation.api.exceptions import Conflict, ResourceNotFound
from foundation.db.retry import atomic_with_retry
from leads.services import check_not_being_erased
from organizations.actors import Actor
from organizations.models import Organization


@atomic_with_retry
def cancel_by_reference(
    *,
    organization: Organization,
    actor: Actor,
    external_reference: str,
    notes: str = "",
    canceled_by: str | None = None,
    reason: str | None = None,
    rescheduled_to: str | None = None,
    notify_lead: bool | None = None,
) -> Appointment:
    """Cancel an appointment that was booked through the API. Repeating it is safe.

    Changes nothing if the appointment has got the reference `rescheduled_to` since. Raises as `find_for_update` does.
    Locks the appointment, then its lead.
    """
    appointment = find_for_update(organization, external_reference, "cancel")
    is_former = appointment.external_reference != external_reference
    if is_former and rescheduled_to and booked_times(appointment, rescheduled_to):
        return appointment
    details = {"canceled_by": canceled_by, "reason": reason, "rescheduled_to": rescheduled_to}
    return cancel_with_note(appointment, actor, notes, details, notify_lead=notify_lead)


@atomic_with_retry
def cancel_or_remember(
    *,
    organization: Organization,
    actor: Actor,
    external_reference: str,
    notes: str = "",
    notify_lead: bool | None = None,
    **details: str | None,
) -> Appointment | RememberedCancellation:
    """Cancel as `cancel_by_reference` does; if the reference is unknown, keep the cancellation for its booking.

    The latest one is kept, and notifies no one. Raises Conflict for a scheduler's appointment, and at `MAX_REMEMBERED`.
    Locks the reference, then the appointment and its lead, or the organization.
    """
    REFERENCE_LOCK.first(organization=organization.pk, reference=external_reference)
    try:
        return cancel_by_reference(
            organization=organization,
            actor=actor,
            external_reference=external_reference,
            notes=notes,
            notify_lead=notify_lead,
            **details,
        )
    except ResourceNotFound:
        return remember_cancellation(organization, actor, external_reference, notes, details)


@atomic_with_retry
def reschedule_by_reference(
    *,
    organization: Organization,
    actor: Actor,
    external_reference: str,
    schedule_time: datetime,
    new_external_reference: str = "",
    meeting_url: str = "",
    notes: str = "",
    duration_minutes: int | None = None,
    rescheduled_by: str | None = None,
    reason: str | None = None,
    notify_lead: bool | None = None,
) -> Appointment:
    """Move an appointment that was booked through the API, maybe under another reference. Repeating it is safe.

    A canceled one is booked again (docs/interface.md, A38 to A40), unless the new reference was canceled before (A62).
    Raises Conflict if another appointment has the new reference, and as `find_for_update` does. Locks the new
    reference, the appointment, then its lead.
    """
    has_new_reference = new_external_reference not in ("", external_reference)
    if has_new_reference:
        REFERENCE_LOCK.first(organization=organization.pk, reference=new_external_reference)
    appointment = find_for_update(organization, external_reference, "reschedule")
    previous, is_new, remembered = appointment.outcome, False, None
    if has_new_reference:
        times = booked_times(appointment, new_external_reference)
        if schedule_time in times:
            return appointment  # a repeat, maybe of a move that others have followed
        is_new = not times
    if is_new:
        others = Appointment.objects.of(organization).with_reference(new_external_reference)
        if others.filter(source=AppointmentSource.MANUAL).exists():
            raise Conflict(f"new_external_reference {new_external_reference} already belongs to another appointment")
        remembered = REMEMBERED_CANCELLATION.first(organization=organization.pk, reference=new_external_reference)

    values: dict[str, object] = {
        "meeting_url": meeting_url or appointment.meeting_url,
        "own_duration_minutes": duration_minutes or appointment.own_duration_minutes,
    }
    set_values(appointment, schedule_time=schedule_time, status_id=None, **values)
    if is_new or appointment.is_called_off:
        book_again(appointment)
    if is_new:
        take_reference(appointment, new_external_reference)
    details = {"rescheduled_by": rescheduled_by, "reason": reason, "duration_minutes": duration_minutes}
    note = add_note(appointment, notes, actor, is_repeated=not appointment.is_changed())
    notifies = remembered is None
    options: dict[str, Any] = {"details": details, "notifies": notifies, "notify_lead": notify_lead}
    save_appointment(appointment, previous, actor, note=note, **options)
    if remembered:
        remembered.delete()
        appointment = cancel_remembered(organization, appointment.pk, remembered)
    return appointment


def find_for_update(organization: Organization, reference: str, verb: str) -> Appointment:
    """Return the appointment that has or had the reference and was booked through the API, locked.

    Raises ResourceNotFound if the reference is unknown, and Conflict if a scheduler manages the appointment
    (docs/interface.md, A22), which tells clients to do what `verb` says there; BeingErased while a worker erases the
    lead.
    """
    appointments = Appointment.objects.of(organization).with_reference(reference)
    appointment: Appointment | None = appointments.filter(source=AppointmentSource.MANUAL).for_update().first()
    # Without its reference if its lead was erased during the wait for the lock.
    if appointment is None or appointment.external_reference is None:
        other = appointments.exclude(source=AppointmentSource.MANUAL).first()
        if other is None:
            raise ResourceNotFound(f"No appointment found for external_reference {reference}")
        problem = f"is managed by {other.source}; {verb} it there"
        raise Conflict(f"The appointment for external_reference {reference} {problem}")
    appointment.organization = organization
    check_not_being_erased(appointment.lead)
    return appointment


def booked_times(appointment: Appointment, reference: str) -> list[datetime]:
    """Return the times that count as booked for a reference: none if it isn't one of the appointment."""
    if reference == appointment.external_reference:
        return [time for time in (appointment.schedule_time, appointment.booked_for) if time]
    former = appointment.former_references.filter(external_reference=reference)
    return list(former.values_list("booked_for", flat=True))


def take_reference(appointment: Appointment, reference: str) -> None:
    """Give the moved appointment another reference. The present one becomes a former one, with its time."""
    booked_for = appointment.booked_for or appointment.schedule_time
    FormerReference.objects.create(
        organization=appointment.organization,
        appointment=appointment,
        source=appointment.source,
        external_reference=appointment.external_reference,
        booked_for=booked_for,
    )
    appointment.first_booked_for = appointment.first_booked_for or booked_for
    appointment.external_reference, appointment.booked_for = reference, None
