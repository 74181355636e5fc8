"""Undoing what an import did to appointments and their notes."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db.models import prefetch_related_objects

from appointments.models import Appointment, EventType, Note
from appointments.services.changes import save_appointment
from appointments.services.deleting import delete_appointments
from appointments.services.notes import remove_notes
from appointments.services.restoring import save_appointments
from appointments.topics import CREATED, NOTE_CREATED
from leads.imports.models import Import, ImportUndo
from leads.imports.undoing import Reasons, change_since, leave_out_members, restore_columns, undoes
from leads.imports.undoing_leads import ERASED, GONE, changed_values
from organizations.actors import Actor
from organizations.models import Organization
from statuses.models import Status
from webhooks.models import Event

GROUPS = [("schedule_time", "booked_for"), ("outcome_id", "no_show"), ("event_type_id", "call_category")]
TYPE_DELETED = "The former event type was deleted, so the present one stays."
TEXT_CHANGED, PINNED = "Its text has changed since.", "It was pinned since."


@undoes(Appointment, created=CREATED)
def undo_appointments(file_import: Import, rows: Sequence[ImportUndo], actor: Actor) -> Reasons:
    organization, ids = file_import.organization, [row.subject_id for row in rows]
    # Locked against new references, too.
    locked = Appointment.objects.of(organization).select_for_update().filter(pk__in=ids).order_by("pk")
    appointments: dict[UUID, Appointment] = {appointment.pk: appointment for appointment in locked}
    prefetch_related_objects([*appointments.values()], "lead__status", "outcome", "event_type")
    reasons: Reasons = {}
    left = {}
    for row in rows:
        appointment = appointments.get(row.subject_id)
        if appointment is None:
            reasons[row.subject_id] = GONE
        elif appointment.lead.is_erased:
            reasons[row.subject_id] = ERASED
        else:
            appointment.organization = organization
            left[row] = appointment
    if rows[0].columns is not None:
        return reasons | restore_appointments(file_import, left, actor)
    for row, appointment in left.items():
        if appointment.updated_at != row.version and (text := change_since(row, appointment, note_ids(appointment))):
            reasons[appointment.pk] = text
    if deleted := [appointment for appointment in left.values() if appointment.pk not in reasons]:
        delete_appointments(organization, deleted, actor, notifies=file_import.sends_invitations)
    return reasons


def note_ids(appointment: Appointment) -> list[UUID]:
    """Return the ids of the appointment's notes, also of deleted ones."""
    return [id for notes in (appointment.notes, appointment.deleted_notes) for id in notes.values_list("pk", flat=True)]


def restore_appointments(file_import: Import, left: Mapping[ImportUndo, Appointment], actor: Actor) -> Reasons:
    reasons, not_restored = Reasons(), leave_out_members(file_import.organization, [*left], Appointment)
    for id, text in leave_out_event_types(file_import.organization, [*left]).items():
        not_restored[id] = " ".join(filter(None, (not_restored.get(id), text)))
    previous = {appointment.pk: appointment.outcome for appointment in left.values()}
    statuses = Status.objects.of(file_import.organization).in_bulk()
    for row, appointment in left.items():
        had_reminder = (row.columns or {}).pop("lead_reminder_at", (None,))[0]
        others = restore_columns(row, appointment, GROUPS)
        if had_reminder and appointment.is_changed("schedule_time"):
            appointment.lead_reminder_at = appointment.schedule_time  # saving computes it anew
        appointment.outcome = statuses.get(appointment.outcome_id)
        texts = (not_restored.get(appointment.pk), changed_values(appointment, others))
        reasons[appointment.pk] = " ".join(filter(None, texts))
    # Their leads' values are restored by themselves, and the leads aren't notified, as by the import.
    if not file_import.sends_invitations:
        save_appointments(file_import.organization, [*left.values()], previous, actor)
        return reasons
    for appointment in left.values():
        save_appointment(appointment, previous[appointment.pk], actor, lead_stays=True, notify_lead=False)
    return reasons


def leave_out_event_types(organization: Organization, rows: Sequence[ImportUndo]) -> Reasons:
    """Leave out former event types that were deleted since; return a sentence for each of these rows."""
    former = {row: (row.columns or {}).get("event_type_id", [None])[0] for row in rows}
    ids = set(former.values()) - {None}
    left = set(map(str, EventType.objects.of(organization).filter(pk__in=ids).values_list("pk", flat=True)))
    for row in (gone := [row for row, id in former.items() if id not in left | {None}]):
        row.columns = {name: pair for name, pair in (row.columns or {}).items() if name != "event_type_id"}
    return {row.subject_id: TYPE_DELETED for row in gone}


@undoes(Note, created=NOTE_CREATED, parent="appointment")
def undo_notes(file_import: Import, rows: Sequence[ImportUndo], actor: Actor) -> Reasons:
    organization, ids = file_import.organization, [row.subject_id for row in rows]
    notes = Note.objects.of(organization).filter(pk__in=ids)
    appointments = Appointment.objects.of(organization).for_update().filter(pk__in=notes.values("appointment"))
    locked = {appointment.pk: appointment for appointment in appointments.order_by("pk")}
    changes = Event.objects.of(organization).filter(subject_id__in=ids).exclude(type=NOTE_CREATED.name)
    reasons: Reasons = dict.fromkeys(changes.values_list("subject_id", flat=True), TEXT_CHANGED)
    reasons |= dict.fromkeys(notes.filter(is_pinned=True).values_list("pk", flat=True), PINNED)
    left = {note.pk: note for note in notes.all() if note.appointment_id in locked}
    reasons |= dict.fromkeys(set(ids) - left.keys(), GONE)
    removed = [note for note in left.values() if note.pk not in reasons]
    for note in removed:
        note.organization, note.appointment = organization, locked[note.appointment_id]
        note.appointment.organization = organization
    if removed:
        remove_notes(organization, removed, actor)
    return reasons
