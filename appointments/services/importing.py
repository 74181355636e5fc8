"""The service that stores what a scheduler says about an appointment (docs/interface.md, A67 to A75)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, Unpack
from uuid import UUID

from appointments.models import Appointment, AppointmentSource, CanceledBy, FormerReference, Provider
from appointments.services.booking import Booking, BookingData, find_or_book
from appointments.services.changes import (
    add_note,
    book_again,
    cancel,
    get_for_update,
    move,
    replace_outcome,
    role_of,
    save_appointment,
)
from appointments.services.references import take_reference
from appointments.services.remembering import REFERENCE_LOCK
from foundation.api.exceptions import ValidationFailed
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from leads.models import Lead
from leads.patches import changed_members
from leads.privacy.references import find_erased, keep_hash
from leads.services import check_not_being_erased
from optins.models import OptIn
from optins.serializers import QuestionAnswerData
from optins.services import sync_opt_in
from organizations.actors import Actor
from organizations.models import Organization
from statuses.models import Board, Status, StatusRole
from statuses.services import default_status

ROLE_OF_STATE = {
    "BOOKED": StatusRole.APPOINTMENT_BOOKED,
    "CANCELED": StatusRole.CANCELED,
    "NO_SHOW": StatusRole.NO_SHOW,
}


@atomic_with_retry
def import_appointment(
    *,
    organization: Organization,
    actor: Actor,
    provider: Provider,
    outcome: StatusRole = StatusRole.APPOINTMENT_BOOKED,
    changed_at: datetime | None = None,
    previous_reference: str = "",
    canceled_by: str | None = None,
    reason: str | None = None,
    **data: Unpack[BookingData],
) -> Booking:
    """Create an appointment as its scheduler reports it, or update the one with its reference.

    A new one is booked as `book` does it, then gets the outcome. A known one gets the scheduler's time, duration,
    outcome, members, meeting URL and new notes; its lead and event type stay. If the call was over when it was stored,
    its lead keeps its status. An outcome that others have set is replaced only when the scheduler's own has changed. A
    state that is older than the stored one, or whose reference was replaced, is not applied; without `changed_at` it is
    the newest. A repeat of the last state, with its `changed_at`, changes nothing. Notifies only with `notify`. If the
    references lead to two appointments, the previous one is canceled. Raises ValidationFailed as `book` does, and if no
    status has the role `outcome`. Locks both references, the appointments, then the leads.
    """
    source, reference, notifies = (
        AppointmentSource(provider),
        str(data["external_reference"]),
        data.get("notify", False),
    )
    for name in sorted({reference, previous_reference} - {""}):
        REFERENCE_LOCK.first(organization=organization.pk, reference=name)
    known = find_synced(organization, source, reference)
    replaced = find_synced(organization, source, previous_reference)
    if known and replaced and known != replaced:
        cancel_replaced(replaced, known, actor, changed_at, previous_reference, reference)
        previous_reference = ""
    stored = known or replaced
    if stored is None and (erased := erased_booking(organization, source, reference, previous_reference, changed_at)):
        return Booking(erased, data["schedule_time"], is_new=False, is_applied=False)
    state_hash = hash_state(outcome, data)
    if stored:
        is_applied = not is_outdated(stored, reference, previous_reference, changed_at)
        is_repeat = changed_at and (stored.synced_hash, stored.synced_at) == (state_hash, changed_at)
        if not is_applied or (is_repeat and reference == stored.external_reference):
            remember_references(stored, source, reference, previous_reference)
            return Booking(stored.pk, stored.schedule_time, is_new=False, is_applied=is_applied)
    # A new one is announced when it is booked.
    tells = notifies and stored is not None
    if stored:
        booking = Booking(stored.pk, stored.schedule_time, is_new=False)
    else:
        invites = notifies and outcome == StatusRole.APPOINTMENT_BOOKED
        booking = find_or_book(organization, actor, source, data, invites=invites)
        stored = get_for_update(organization, booking.id)
    has_new_reference = bool(replaced and not known)
    if has_new_reference:
        take_reference(stored, reference)
    stored.synced_at, stored.synced_hash = changed_at or stored.synced_at, state_hash
    reasons = {"canceled_by": canceled_by, "reason": reason}
    store_state(stored, actor, outcome, data, reasons, has_new_reference=has_new_reference, notifies=tells)
    remember_references(stored, source, reference, previous_reference)
    return booking._replace(schedule_time=stored.schedule_time)


def erased_booking(
    organization: Organization,
    source: AppointmentSource,
    reference: str,
    previous_reference: str,
    changed_at: datetime | None,
) -> UUID | None:
    """Return the appointment that this is about if its lead was erased, and the state is no later booking.

    The scheduler has moved it before that, if the reference replaces one that was erased later.
    """
    if known := find_erased(organization, Appointment, source, reference):
        return known.subject_id
    replaced = find_erased(organization, Appointment, source, previous_reference)
    if replaced is None or changed_at is None or changed_at > replaced.created_at:
        return None
    keep_hash(replaced, Appointment, source, reference)
    return replaced.subject_id


def hash_state(outcome: StatusRole, data: BookingData) -> int:
    """Return the hash of all that a state can change of a known appointment, besides its notes."""
    names = ("schedule_time", "host_email", "setter_email", "triager_email", "meeting_url", "duration_minutes")
    values = [outcome.value, *(data.get(name) for name in names), "meeting_url" in data]
    return int.from_bytes(blake2b(repr(values).encode(), digest_size=8).digest(), signed=True)


def store_state(
    appointment: Appointment,
    actor: Actor,
    outcome: StatusRole,
    data: BookingData,
    reasons: Mapping[str, str | None],
    *,
    has_new_reference: bool,
    notifies: bool,
) -> None:
    """Give the locked appointment its scheduler's state, and record the event of what has changed."""
    previous = appointment.outcome
    is_no_show_withdrawn = appointment.synced_role == StatusRole.NO_SHOW and outcome != StatusRole.NO_SHOW
    note = add_note(appointment, data.get("notes", ""), actor)
    is_canceled = outcome == StatusRole.CANCELED
    if is_canceled:
        follow_cancellation(appointment, data)
    else:
        follow_provider(appointment, outcome, data, has_new_reference)
    appointment.synced_role = outcome.value
    details = reasons if is_canceled else None
    lead_stays = appointment.ends_at < appointment.created_at  # else the lead would depend on the order of states
    options: dict[str, Any] = {"lead_stays": lead_stays, "notifies": notifies, "notify_lead": False}
    if is_no_show_withdrawn and not lead_stays:
        options["change_lead"] = withdraw_no_show
    save_appointment(appointment, previous, actor, note=note, details=details, **options)


def withdraw_no_show(lead: Lead) -> None:
    """Give the locked lead the status that it has in any other order of the states, if it is still a no-show."""
    booked = default_status(lead.organization, Board.LEAD, StatusRole.APPOINTMENT_BOOKED)
    if booked and lead.status.role == StatusRole.NO_SHOW:
        lead.status = booked


@atomic_with_retry
def sync_appointment(
    *,
    organization: Organization,
    actor: Actor,
    source: str,
    external_reference: str,
    changed_at: datetime,
    state: str,
    lead: Mapping[str, str],
    event_type: str,
    questions_answers: Sequence[QuestionAnswerData] = (),
    **data: Any,
) -> Booking:
    """Import a booking as `import_appointment` does, and its answers as an opt-in with the same reference."""
    common: dict[str, Any] = {"organization": organization, "actor": actor, "changed_at": changed_at}
    lead_values: dict[str, Any] = {f"lead_{name}": value for name, value in lead.items()}
    booking = import_appointment(
        **common,
        provider=Provider(source),
        outcome=ROLE_OF_STATE[state],
        external_reference=external_reference,
        event_type_name=event_type,
        **lead_values,
        **data,
    )
    if questions_answers and booking.is_applied:
        stored = Appointment.objects.of(organization).select_related("lead").get(pk=booking.id)
        former = stored.former_references.values_list("external_reference", flat=True)
        # A booking that replaces another one has the answers of the first one.
        if not OptIn.objects.of(organization).filter(source=source, external_reference__in=former).exists():
            sync_opt_in(
                **common,
                source=source,
                reference=external_reference,
                email=stored.lead.email,
                first_name="",  # the booking has used it
                traffic=data.get("traffic"),
                questions_answers=questions_answers,
                # The lead has answered by booking: this is no opt-in that was booked later, or never.
                created_at=stored.created_at if booking.is_new else now(),
                is_of_booking=True,
            )
    return booking


def cancel_replaced(
    appointment: Appointment,
    replacement: Appointment,
    actor: Actor,
    changed_at: datetime | None,
    reference: str,
    new_reference: str,
) -> None:
    """Cancel an appointment with this reference whose replacement was stored before it was known to be one.

    Its lead's status stays, as in a move, unless the replacement is canceled, too.
    """
    is_older = changed_at and appointment.synced_at and changed_at < appointment.synced_at
    is_repeat = appointment.synced_role == StatusRole.CANCELED and changed_at == appointment.synced_at
    if is_older or is_repeat or appointment.external_reference != reference:
        return
    previous = appointment.outcome
    cancel(appointment)
    appointment.synced_role = StatusRole.CANCELED.value
    appointment.synced_at, appointment.synced_hash = changed_at or appointment.synced_at, None
    details = {"canceled_by": CanceledBy.SYSTEM.value, "rescheduled_to": new_reference}
    was_over = appointment.ends_at < appointment.created_at
    lead_stays = was_over or role_of(replacement.outcome) != StatusRole.CANCELED
    save_appointment(appointment, previous, actor, details=details, lead_stays=lead_stays, notifies=False)


def find_synced(organization: Organization, source: AppointmentSource, reference: str) -> Appointment | None:
    """Return the source's appointment that has or had the reference, locked; None if there is none.

    Raises BeingErased while a worker erases its lead.
    """
    if not reference:
        return None
    rows = Appointment.objects.of(organization).with_reference(reference).filter(source=source)
    appointment: Appointment | None = rows.for_update().first()
    # Without its reference if its lead was erased during the wait for the lock.
    if appointment is None or appointment.external_reference is None:
        return None
    appointment.organization = organization
    check_not_being_erased(appointment.lead)
    return appointment


def is_outdated(appointment: Appointment, reference: str, previous_reference: str, changed_at: datetime | None) -> bool:
    """Return whether the state under this reference is older than the stored one.

    A reference that replaces the present one is newer, whenever its state was changed: the scheduler may record the
    end of the old booking after the beginning of the new one.
    """
    if reference != appointment.external_reference:
        if appointment.former_references.filter(external_reference=reference).exists():
            return True
        if previous_reference == appointment.external_reference:
            return False
    return bool(changed_at and appointment.synced_at and changed_at < appointment.synced_at)


def remember_references(appointment: Appointment, source: AppointmentSource, *references: str) -> None:
    """Let the references lead to the appointment that don't yet. They must be locked, and belong to no other one."""
    rows = [
        FormerReference(
            organization=appointment.organization,
            appointment=appointment,
            source=source,
            external_reference=reference,
            booked_for=appointment.schedule_time,
        )
        for reference in references
        if reference not in ("", appointment.external_reference)
    ]
    FormerReference.objects.of(appointment.organization).bulk_create(rows, ignore_conflicts=True)


def follow_cancellation(appointment: Appointment, data: BookingData) -> None:
    """Set the time that the canceled call had last, and cancel the appointment if the scheduler hadn't before."""
    if data["schedule_time"] != appointment.schedule_time:
        appointment.booked_for = appointment.booked_for or appointment.schedule_time
        appointment.schedule_time = data["schedule_time"]
    if appointment.synced_role != StatusRole.CANCELED:
        cancel(appointment)


def follow_provider(appointment: Appointment, role: StatusRole, data: BookingData, has_new_reference: bool) -> None:
    organization, previous = appointment.organization, appointment.outcome
    # Without a default, a retired status says what has happened, too.
    others = Status.objects.of(organization).on_board(Board.APPOINTMENT).filter(role=role).order_by("-is_active", "pk")
    status = default_status(organization, Board.APPOINTMENT, role) or others.first()
    if status is None:
        raise ValidationFailed({"state": ["has no status on the appointment board"]})

    schedule_time = data["schedule_time"]
    is_moved = schedule_time != appointment.schedule_time
    is_new_outcome = appointment.synced_role != role
    # A member who has left since stays the host.
    roles = [role for role in ("host", "setter", "triager") if data.get(f"{role}_email")]
    for name, member in changed_members(appointment, roles, data).items():
        setattr(appointment, name, member)
    # A repeat must not bring back the meeting URL of an appointment that staff have canceled.
    stays_off = appointment.is_called_off and not (is_moved or is_new_outcome or has_new_reference)
    if "meeting_url" in data and not stays_off:
        appointment.meeting_url = data["meeting_url"]
    appointment.own_duration_minutes = data.get("duration_minutes") or appointment.own_duration_minutes
    if is_moved:
        move(appointment, schedule_time)
    elif has_new_reference:
        book_again(appointment)
    if is_new_outcome or appointment.outcome != previous:
        replace_outcome(appointment, status)
