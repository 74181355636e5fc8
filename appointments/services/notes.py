"""The services of notes about appointments (docs/interface.md, L34 to L38).

`changes.create_note` adds one from the admin's form.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models.functions import Lower

from appointments.models import Appointment, DeletedNote, Note
from appointments.notifications import active_members, notify_mentioned
from appointments.serializers import NoteDetailSerializer, NoteItemSerializer
from appointments.services.changes import get_for_update, insert_note, save_appointment
from appointments.topics import NOTE_DELETED, NOTE_UPDATED
from foundation.api.emails import email_key, spellings
from foundation.api.exceptions import ResourceNotFound, ValidationFailed
from foundation.api.sql_serializers import Json
from foundation.db.retry import atomic_with_retry
from leads.notes import change_text, find_own_note, find_repeated
from leads.services import check_not_being_erased, check_not_erased
from organizations.actors import Actor
from organizations.models import Membership, Organization
from organizations.versions import save_versions
from webhooks.events import record_event, record_events


@atomic_with_retry
def write_note(
    *,
    organization: Organization,
    actor: Actor,
    appointment_id: UUID,
    note: str,
    external_reference: str | None = None,
    mention_emails: Sequence[str] = (),
) -> tuple[Json | None, bool]:
    """Store a note as `create_note` does, unless it repeats one; return its JSON, and whether it is new.

    Raises ResourceNotFound, ValidationFailed if an e-mail belongs to no active member, and Conflict as `find_repeated`
    does or if the lead was erased. Locks the appointment.
    """
    appointment = lock_appointment(organization, appointment_id)
    repeated = find_repeated(Note.objects.of(organization).filter(appointment=appointment), note, external_reference)
    if repeated:
        return NoteItemSerializer.get(organization, repeated.pk), False
    check_not_erased(appointment.lead)
    # After the look-up, so that a repetition succeeds even if a member has left since.
    row = insert_note(appointment, note, actor, find_mentioned(organization, mention_emails), external_reference)
    save_appointment(appointment, appointment.outcome, actor, note=row)
    return NoteItemSerializer.get(organization, row.pk), True


@atomic_with_retry
def change_note(
    *, organization: Organization, actor: Actor, appointment_id: UUID, note_id: UUID, changes: Mapping[str, Any]
) -> Json | None:
    """Change text and mentions of a note, notify newly mentioned members, and return its JSON.

    The mentions are e-mails, or members as `mentions`. Members in `named_before`, whom the former text named, are not
    notified. Raises as `find_own_note` does, ValidationFailed if an e-mail belongs to no active member, and BeingErased
    while a worker erases the lead. Locks the appointment.
    """
    appointment, note = lock_own_note(organization, actor, appointment_id, note_id)
    before = NoteDetailSerializer.get_text(organization, note.pk)
    change_text(note, changes.get("note"))
    if "mention_emails" in changes or "mentions" in changes:
        mentions = changes.get("mentions") or find_mentioned(organization, changes.get("mention_emails") or ())
        known = {*note.mention_users.values_list("pk", flat=True), *(row.pk for row in changes.get("named_before", ()))}
        note.mention_users.set(mentions)
        notify_mentioned(note, [member for member in mentions if member.pk not in known], actor)
    if NoteDetailSerializer.get_text(organization, note.pk) != before:
        appointment.save_version()
        record_event(NOTE_UPDATED, note, actor=actor, before=before)
    return NoteItemSerializer.get(organization, note.pk)


@atomic_with_retry
def delete_note(*, organization: Organization, actor: Actor, appointment_id: UUID, note_id: UUID) -> None:
    """Delete a note. Locks the appointment.

    Raises as `find_own_note` does, and BeingErased while a worker erases the lead.
    """
    _, note = lock_own_note(organization, actor, appointment_id, note_id)
    remove_notes(organization, [note], actor)


def remove_notes(organization: Organization, notes: Sequence[Note], actor: Actor) -> None:
    """Delete notes of locked appointments, and record the events."""
    ids = [note.pk for note in notes]
    save_versions([*{note.appointment_id: note.appointment for note in notes}.values()])
    record_events(NOTE_DELETED, organization, ids, actor=actor)
    deleted = [DeletedNote(id=note.pk, organization=organization, appointment=note.appointment) for note in notes]
    DeletedNote.objects.of(organization).bulk_create(deleted)
    Note.objects.of(organization).filter(pk__in=ids).delete()


def lock_appointment(organization: Organization, appointment_id: UUID) -> Appointment:
    try:
        return get_for_update(organization, appointment_id)
    except Appointment.DoesNotExist:
        raise ResourceNotFound from None


def lock_own_note(
    organization: Organization, actor: Actor, appointment_id: UUID, note_id: UUID
) -> tuple[Appointment, Note]:
    appointment = lock_appointment(organization, appointment_id)
    note: Note = find_own_note(Note.objects.of(organization).filter(appointment=appointment), note_id, actor)
    check_not_being_erased(appointment.lead)
    note.organization, note.appointment = organization, appointment
    return appointment, note


def find_mentioned(organization: Organization, emails: Sequence[str]) -> list[Membership]:
    """Return the active members with these e-mails. Raises ValidationFailed if one belongs to none."""
    forms = [form for email in emails for form in spellings(email)]
    rows = active_members(organization).alias(lowercase_email=Lower("user__email")).filter(lowercase_email__in=forms)
    members = {email_key(member.user.email): member for member in rows}
    errors = {
        f"mention_emails.{index}": ["must belong to an active member of the organization"]
        for index, email in enumerate(emails)
        if email_key(email) not in members
    }
    if errors:
        raise ValidationFailed(errors)
    return list(members.values())
