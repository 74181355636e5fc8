"""Undoing what an import did to appointments and their notes."""

from typing import Any

from appointments.models import Appointment, Note
from appointments.services.changes import get_for_update, save_appointment
from appointments.services.deleting import delete_appointment
from appointments.services.notes import remove_note
from appointments.topics import CREATED, NOTE_CREATED
from leads.imports.models import Import, ImportUndo
from leads.imports.undoing import change_since, restore_columns, undoes
from leads.imports.undoing_leads import ERASED, GONE, changed_values
from organizations.actors import Actor
from webhooks.models import Event

GROUPS = [("schedule_time", "booked_for"), ("outcome_id", "no_show"), ("event_type_id", "call_category")]


@undoes(Appointment, created=CREATED)
def undo_appointment(file_import: Import, row: ImportUndo, actor: Actor) -> str:
    # Locked against new references, too.
    appointment = Appointment.objects.of(row.organization).select_for_update().filter(pk=row.subject_id).first()
    if appointment is None:
        return GONE
    appointment.organization = row.organization
    if appointment.lead.is_erased:
        return ERASED
    if row.columns is None:
        reason = change_since(row, appointment)
        if not reason:
            delete_appointment(appointment, actor, notifies=file_import.sends_invitations)
        return reason
    previous = appointment.outcome
    others = restore_columns(row, appointment, GROUPS)
    # Its lead's values are restored by themselves, and the lead isn't notified, as by the import.
    options: dict[str, Any] = {"notifies": file_import.sends_invitations, "notify_lead": False}
    save_appointment(appointment, previous, actor, lead_stays=True, **options)
    return changed_values(appointment, others)


@undoes(Note, created=NOTE_CREATED, parent="appointment")
def undo_note(file_import: Import, row: ImportUndo, actor: Actor) -> str:
    note = Note.objects.of(row.organization).filter(pk=row.subject_id).first()
    if note is None:
        return GONE
    appointment = get_for_update(row.organization, note.appointment_id)
    note = Note.objects.of(row.organization).filter(pk=row.subject_id).first()
    if note is None:
        return GONE
    if Event.objects.of(row.organization).filter(subject_id=note.pk).exclude(type=NOTE_CREATED.name).exists():
        return "Its text has changed since."
    note.organization, note.appointment = row.organization, appointment
    remove_note(note, actor)
    return ""
