"""The services that change booked appointments: cancellation, rescheduling, outcomes, other fields and notes.

Each locks the appointment, sets its new values, and calls `save_appointment` once.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from appointments.conditions import BOOKED_ROLES
from appointments.lead_notifications import awaits_reminder, queue_lead_email, reminder_time, was_reminded
from appointments.models import Appointment, DeletedNote, Note, OutcomeChange
from appointments.notifications import notify_mentioned, notify_participants, stays_called_off
from appointments.serializers import AppointmentDetailSerializer
from appointments.services.leads import update_lead
from appointments.services.next_steps import add_step, remove_steps
from appointments.topics import CANCELED, NOTE_CREATED, OUTCOME_CHANGED, RESCHEDULED, UPDATED
from foundation.api.exceptions import Conflict
from foundation.db.retry import atomic_with_retry
from foundation.db.writes import insert_all
from leads.models import Lead, NextStep
from leads.services import (
    ADDED_BEFORE,
    DELETED_BEFORE,
    check_not_being_erased,
    check_not_erased,
    get_lead_for_update,
)
from notifications.models import LEAD_KINDS, Kind
from notifications.services import cancel_lead_mails
from organizations.actors import Actor, ActorKind, actor_columns
from organizations.models import Membership, Organization
from statuses.models import RESULT_ROLES, Board, Status, StatusRole
from statuses.services import default_status, get_board_status
from webhooks.events import record_event, store_changes
from webhooks.topics import Topic

NOT_HELD_ROLES = (None, StatusRole.CANCELED, StatusRole.NO_SHOW)
REOPENED_ROLES = (*NOT_HELD_ROLES, StatusRole.RESCHEDULED)  # by another time
PERSONAL_FIELDS = {"meeting_url", "recording_url", "custom_values"}  # erasing a lead empties them
# A calendar entry depends on these, the time and the outcome.
INVITATION_COLUMNS = (
    "host_id",
    "setter_id",
    "triager_id",
    "meeting_url",
    "event_type_id",
    "call_category",
    "own_duration_minutes",
)


class Effects(NamedTuple):
    topic: Topic
    notification: Kind | None = None
    lead_role: StatusRole | None = None


CANCELLATION = Effects(CANCELED, Kind.CALL_CANCELED, StatusRole.CANCELED)


@atomic_with_retry
def cancel_appointment(
    *, organization: Organization, actor: Actor, appointment: Appointment, notes: str = ""
) -> Appointment:
    """Cancel any appointment for staff, a scheduler's too. Repeating it is safe. Locks it, then its lead.

    Raises Conflict for notes if the lead was erased, and BeingErased while a worker erases it.
    """
    stored = get_for_update(organization, appointment.pk)
    (check_not_erased if notes else check_not_being_erased)(stored.lead)
    is_repeated = role_of(stored.outcome) == StatusRole.CANCELED
    return cancel_with_note(stored, actor, notes, {}, is_repeated=is_repeated)


@atomic_with_retry
def edit_appointment(
    *,
    organization: Organization,
    actor: Actor,
    appointment: Appointment,
    note: str = "",
    lead_status_id: UUID | None = None,
    lead_status_was: UUID | None = None,
    next_step: NextStep | None = None,
    notify_lead: bool | None = None,
    **values: Any,
) -> Appointment:
    """Change values of an appointment as `set_values` does, with a note that says why, and return it.

    The lead gets the status with this id; without it, another outcome moves the lead (A29). It also gets `next_step`,
    which isn't stored yet.

    Records one event, and notifies the participants once, and the lead as `save_appointment` does. Raises
    ValidationFailed if a status is unknown or not of its board, and Conflict if the lead was erased and a value or note
    can be personal, or if its status is no longer `lead_status_was`, and for a step as `add_step` does, and BeingErased
    while a worker erases the lead. Locks the appointment, then its lead.
    """
    stored = get_for_update(organization, appointment.pk)
    previous = stored.outcome
    is_personal = bool(note or PERSONAL_FIELDS & values.keys())
    (check_not_erased if is_personal else check_not_being_erased)(stored.lead)
    set_values(stored, **values)
    note_row = add_note(stored, note, actor, is_repeated=not stored.is_changed())
    options: dict[str, Any] = {"lead_status_id": lead_status_id, "lead_status_was": lead_status_was}
    options["change_lead"] = next_step and partial(add_step, step=next_step)
    save_appointment(stored, previous, actor, note=note_row, notify_lead=notify_lead, **options)
    return stored


def reschedule(
    *,
    organization: Organization,
    actor: Actor,
    appointment: Appointment,
    to: datetime,
    host: Membership | None = None,
    reason: str = "",
) -> Appointment:
    """Change the time as `edit_appointment` does, and the host if one is given."""
    values: dict[str, Any] = {"schedule_time": to, "note": reason} | ({"host": host} if host else {})
    return edit_appointment(organization=organization, actor=actor, appointment=appointment, **values)


@atomic_with_retry
def create_note(
    *,
    organization: Organization,
    actor: Actor,
    appointment: Appointment,
    text: str,
    id: UUID,
    mentions: Collection[Membership] = (),
) -> None:
    """Store a note and notify the members, unless this note exists.

    Raises Conflict if the lead was erased, or if the id is another note's or a deleted one's. Locks the appointment.
    """
    stored = get_for_update(organization, appointment.pk)
    check_not_erased(stored.lead)
    if DeletedNote.objects.of(organization).filter(pk=id).exists():
        raise Conflict(DELETED_BEFORE)
    note = Note(id=id, note=text, organization=organization, appointment=stored, **actor_columns(actor))
    if insert_all(note, on_conflict_do_nothing=True):
        add_mentions(note, mentions, actor)
        save_appointment(stored, stored.outcome, actor, note=note)
    elif not Note.objects.of(organization).filter(pk=id, appointment=stored, note=text).exists():
        raise Conflict(ADDED_BEFORE)


@atomic_with_retry
def undo_outcome(
    *,
    organization: Organization,
    actor: Actor,
    appointment: Appointment,
    outcome: tuple[UUID, UUID],
    lead_status: tuple[UUID, UUID],
    steps: Mapping[str, Sequence[str | None]] | None = None,
    touch_point: Sequence[str | None] | None = None,
    since: Sequence[str | None] = (None, None),
) -> Appointment:
    """Give an appointment its former outcome back, and its lead the former status. No one is notified.

    Both are pairs: the former id, and the one that is to be undone. The lead's stays if it has changed since. `since`
    when they had the outcome and the status, as ISO timestamps, is restored, too. The next `steps` that came with the
    outcome go, as in `remove_steps`.

    Records the events. Raises Conflict if the outcome has changed since, and BeingErased while a worker erases the
    lead. Locks the appointment, then its lead.
    """
    stored, undone = get_for_update(organization, appointment.pk), outcome[1]
    former = Status.objects.of(organization).filter(pk=outcome[0]).first()
    if stored.outcome_id != undone or former is None:
        raise Conflict("The outcome has changed since. Nothing was undone")
    lead = get_lead_for_update(organization=organization, lead_id=stored.lead_id)
    check_not_being_erased(lead)
    is_moved = lead_status[0] != lead_status[1] == lead.status_id
    previous = stored.outcome
    replace_outcome(stored, former)
    outcome_since, status_since = (datetime.fromisoformat(text) if text else None for text in since)
    stored.outcome_since = outcome_since or stored.outcome_since
    lead_values = {}
    if is_moved:
        # `lead_status_id` would refuse a status that was retired since.
        status = get_board_status(organization, Board.LEAD, lead_status[0], current=lead_status[0])
        lead_values = {"status": status, "status_since": status_since or lead.status_since}
    restore = partial(restore_lead, steps=steps or {}, touch_point=touch_point, values=lead_values)
    options: dict[str, Any] = {"effects": Effects(OUTCOME_CHANGED), "change_lead": restore}
    save_appointment(stored, previous, actor, **options, notifies=False)
    return stored


# The steps of these services and of the import. They expect the appointment to be locked.


def get_for_update(organization: Organization, appointment_id: UUID) -> Appointment:
    """Return the appointment as stored now, locked. Raises DoesNotExist for another organization's."""
    stored: Appointment = Appointment.objects.of(organization).for_update().get(pk=appointment_id)
    stored.organization = organization
    return stored


def set_values(
    appointment: Appointment, *, schedule_time: datetime | None = None, status_id: UUID | None = None, **fields: object
) -> None:
    """Set time, outcome, members, URLs, event type, category or custom values, with what follows from them.

    Another time reschedules the appointment: if it was canceled, missed or to be rescheduled, or has no outcome, it
    becomes booked again (docs/interface.md, A28). An outcome with the role CANCELED has all effects of a cancellation,
    and a booked one after CANCELED or NO_SHOW those of a booking (A29).
    """
    outcome = previous = appointment.outcome
    if status_id:
        organization, current = appointment.organization, appointment.outcome_id
        outcome = get_board_status(organization, Board.APPOINTMENT, status_id, current=current)
    for name, value in fields.items():
        setattr(appointment, name, value)
    if schedule_time and schedule_time != appointment.schedule_time:
        move(appointment, schedule_time)
    if outcome and outcome != previous:
        replace_outcome(appointment, outcome)


def cancel_with_note(
    appointment: Appointment,
    actor: Actor,
    notes: str,
    details: Mapping[str, str | None],
    *,
    is_repeated: bool = True,
    **options: Any,
) -> Appointment:
    previous, note = appointment.outcome, add_note(appointment, notes, actor, is_repeated=is_repeated)
    cancel(appointment)
    save_appointment(appointment, previous, actor, effects=CANCELLATION, note=note, details=details, **options)
    return appointment


def cancel(appointment: Appointment) -> None:
    role = StatusRole.CANCELED
    if appointment.outcome is None or appointment.outcome.role != role:
        replace_outcome(appointment, default_status(appointment.organization, Board.APPOINTMENT, role))
    appointment.meeting_url = None


def move(appointment: Appointment, to: datetime) -> None:
    appointment.booked_for = appointment.booked_for or appointment.schedule_time
    appointment.schedule_time = to
    book_again(appointment)


def book_again(appointment: Appointment) -> None:
    if appointment.is_called_off or role_of(appointment.outcome) in REOPENED_ROLES:
        role = StatusRole.APPOINTMENT_BOOKED
        replace_outcome(appointment, default_status(appointment.organization, Board.APPOINTMENT, role))


def replace_outcome(appointment: Appointment, outcome: Status | None) -> None:
    appointment.outcome = outcome
    appointment.no_show = role_of(outcome) == StatusRole.NO_SHOW
    if role_of(outcome) == StatusRole.CANCELED:
        appointment.meeting_url = None


def role_of(outcome: Status | None) -> str | None:
    return outcome.role if outcome else None


def save_appointment(
    appointment: Appointment,
    previous: Status | None,
    actor: Actor,
    *,
    effects: Effects | None = None,
    note: Note | None = None,
    details: Mapping[str, object] | None = None,
    lead_status_id: UUID | None = None,
    lead_status_was: UUID | None = None,
    lead_stays: bool = False,
    change_lead: Callable[[Lead], object] | None = None,
    notifies: bool = True,
    notify_lead: bool | None = None,
) -> None:
    """Store the changes of an appointment with its history, update its lead, and record one event for all of them.

    `previous` is the outcome before the changes; a new `note` moves `updated_at` and is an event of its own; `details`
    are of the event. `notifies` the participants if the changes call for it, and the lead, too, if `notify_lead`: by
    default for changes by staff. Another time or outcome cancels what waits to be sent to the lead, but no cancellation
    unless the call is booked again. Locks the lead if time, outcome or meeting URL have changed; it gets the status
    `lead_status_id`, or that of the effects, or its status stays if `lead_stays`. `change_lead` changes the locked lead
    further, so that all is one event of it.
    """
    effects = effects or effects_of(appointment, previous)
    is_moved = appointment.is_changed("schedule_time", "outcome_id")
    is_resized = appointment.is_changed("own_duration_minutes")
    has_other_time = appointment.is_changed("schedule_time")
    notifies_lead = notifies and (actor.kind == ActorKind.STAFF if notify_lead is None else notify_lead)
    lead_change = prepare_for_lead(appointment, effects, notifies_lead=notifies_lead)
    before = store_changes(appointment, AppointmentDetailSerializer)
    if appointment.outcome and appointment.outcome != previous:
        columns = {"organization": appointment.organization, "appointment": appointment, **actor_columns(actor)}
        OutcomeChange.objects.create(from_status=previous, to_status=appointment.outcome, **columns)
    if is_moved:
        # A cancellation is still to be sent if another outcome only says why the call isn't held.
        is_off = not has_other_time and role_of(appointment.outcome) not in BOOKED_ROLES
        kinds = {*LEAD_KINDS} - ({Kind.LEAD_CANCELED} if is_off else set())
        cancel_lead_mails(organization=appointment.organization, subject_ids=[appointment.pk], kinds=kinds)
    if is_moved or lead_status_id or change_lead or (before and effects.topic is CANCELED):
        lead = appointment.lead = lock_lead_of(appointment, lead_status_was)
        if change_lead:
            change_lead(lead)
        move_lead(lead, lead_status_id, None if lead_stays else effects.lead_role, actor)
    if before:
        record_event(effects.topic, appointment, actor=actor, before=before, details=details)
    if note:
        if before is None:
            appointment.save_version()
        record_event(NOTE_CREATED, note, actor=actor)
    if (before or is_resized) and effects.notification and notifies:
        notify_participants(effects.notification, appointment)
        queue_lead_email(lead_change, appointment)


def lock_lead_of(appointment: Appointment, status_was: UUID | None) -> Lead:
    lead = get_lead_for_update(organization=appointment.organization, lead_id=appointment.lead_id)
    if status_was and lead.status_id != status_was:
        raise Conflict("The lead's status has just changed. Check it, and try again")
    return lead


def restore_lead(
    lead: Lead,
    *,
    steps: Mapping[str, Sequence[str | None]],
    touch_point: Sequence[str | None] | None,
    values: Mapping[str, object],
) -> None:
    """Remove the next steps as `remove_steps` does, and set the lead's values."""
    remove_steps(lead, steps=steps, touch_point=touch_point)
    for name, value in values.items():
        setattr(lead, name, value)


def move_lead(lead: Lead, status_id: UUID | None, role: StatusRole | None, actor: Actor) -> None:
    """Store a locked lead's changes: with the status of this id, or else the default of the role, if there is one."""
    status = None
    if status_id:
        lead.status = get_board_status(lead.organization, Board.LEAD, status_id, current=lead.status_id)
    elif role and (role not in RESULT_ROLES or lead.status.role != role):  # any status of this role says the same
        status = default_status(lead.organization, Board.LEAD, role)
    update_lead(lead, status, actor)


def prepare_for_lead(appointment: Appointment, effects: Effects, *, notifies_lead: bool) -> Kind | None:
    """Set when the lead is reminded after these unsaved changes; return what to notify the lead of, if anything.

    A move that the lead is not notified of moves a reminder that is due later, too, and so does another event type.
    """
    change = change_for_lead(appointment, effects) if notifies_lead else None
    is_moved = appointment.is_changed("schedule_time", "event_type_id") and appointment.lead_reminder_at
    if change or is_moved or (appointment.is_changed("event_type_id") and awaits_reminder(appointment)):
        at = reminder_time(appointment)
        appointment.lead_reminder_at = None if at and was_reminded(appointment) else at
    return change


def change_for_lead(appointment: Appointment, effects: Effects) -> Kind | None:
    """Return the change that the lead can be notified of. Another meeting URL is a new invitation."""
    if effects.notification != Kind.CALL_UPDATED:
        return effects.notification
    has_new_url = appointment.is_changed("meeting_url") and appointment.meeting_url
    return Kind.CALL_BOOKED if has_new_url else None


def effects_of(appointment: Appointment, previous: Status | None) -> Effects:
    role, is_replaced = role_of(appointment.outcome), appointment.outcome != previous
    is_canceled, was_canceled = role == StatusRole.CANCELED, role_of(previous) == StatusRole.CANCELED
    if is_canceled and not was_canceled:
        return CANCELLATION
    is_moved = appointment.is_changed("schedule_time")
    open_roles = REOPENED_ROLES if is_moved else NOT_HELD_ROLES
    can_be_booked = role_of(previous) in open_roles or appointment.is_called_off
    is_booked_again = is_replaced and role in BOOKED_ROLES and can_be_booked
    # Until now it has not moved its lead, if it was over when it was stored.
    is_first_to_come = is_moved and role in (None, StatusRole.APPOINTMENT_BOOKED) and was_stored_late(appointment)
    is_to_come = (is_booked_again or is_first_to_come) and not appointment.is_over
    lead_role = StatusRole.APPOINTMENT_BOOKED if is_to_come else None
    if is_replaced and role in RESULT_ROLES:
        lead_role = StatusRole(role)
    if is_moved:
        return Effects(RESCHEDULED, None if stays_called_off(appointment) else Kind.CALL_RESCHEDULED, lead_role)
    notification = Kind.CALL_UPDATED if appointment.is_changed(*INVITATION_COLUMNS) else None
    topic = RESCHEDULED if appointment.is_changed("external_reference") else None
    if is_replaced:
        return Effects(topic or OUTCOME_CHANGED, Kind.CALL_BOOKED if is_booked_again else notification, lead_role)
    return Effects(topic or UPDATED, notification)


def was_stored_late(appointment: Appointment) -> bool:
    """Return whether the call, at its time before these unsaved changes, was over when it was stored (A32)."""
    former_time: datetime = appointment.stored_values["schedule_time"]
    return former_time + (appointment.ends_at - appointment.schedule_time) < appointment.created_at


def add_note(appointment: Appointment, text: str, actor: Actor, *, is_repeated: bool = True) -> Note | None:
    """Store and return a note, unless it is empty or the appointment has the same one.

    The comparison makes requests safe to repeat, which bring the same text. A change that can't be a repetition stores
    the reason each time.
    """
    notes = Note.objects.of(appointment.organization).filter(appointment=appointment, note=text)
    if not text or (is_repeated and notes.exists()):
        return None
    return insert_note(appointment, text, actor)


def insert_note(
    appointment: Appointment,
    text: str,
    actor: Actor,
    mentions: Collection[Membership] = (),
    external_reference: str | None = None,
) -> Note:
    columns = {"organization": appointment.organization, "appointment": appointment, **actor_columns(actor)}
    note: Note = Note.objects.create(note=text, external_reference=external_reference, **columns)
    add_mentions(note, mentions, actor)
    return note


def add_mentions(note: Note, members: Collection[Membership], actor: Actor) -> None:
    if members:
        note.mention_users.set(members)
        notify_mentioned(note, members, actor)
