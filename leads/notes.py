"""Notes about leads, and what those about appointments have in common with them (L34 to L38)."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from uuid_utils.compat import uuid7

from foundation.api.exceptions import Conflict, NotAllowed, ResourceNotFound
from foundation.api.sql_serializers import Json
from foundation.db.retry import atomic_with_retry
from foundation.db.timestamps import now
from leads.mentions import notify_mentioned
from leads.models import DeletedLeadNote, EditableNote, LeadNote
from leads.serializers import LeadNoteDetailSerializer, LeadNoteItemSerializer
from leads.services import add_note, check_not_being_erased, check_not_erased, lock_known_lead
from leads.topics import NOTE_DELETED, NOTE_UPDATED
from organizations.actors import Actor, ActorKind
from organizations.models import Membership, Organization
from webhooks.events import record_event


@atomic_with_retry
def write_lead_note(
    *, organization: Organization, actor: Actor, lead_id: UUID, note: str, external_reference: str | None = None
) -> tuple[Json | None, bool]:
    """Add a note as `add_note` does, unless it repeats one; return its JSON, and whether it is new.

    Raises ResourceNotFound, and Conflict as `find_repeated` does or if the lead was erased. Locks the lead.
    """
    lead = lock_known_lead(organization, lead_id)
    repeated = find_repeated(LeadNote.objects.of(organization).filter(lead=lead), note, external_reference)
    id = repeated.pk if repeated else uuid7()
    if repeated is None:
        check_not_erased(lead)
        reference = external_reference
        add_note(organization=organization, actor=actor, lead=lead, text=note, id=id, external_reference=reference)
    return LeadNoteItemSerializer.get(organization, id), repeated is None


@atomic_with_retry
def change_lead_note(
    *,
    organization: Organization,
    actor: Actor,
    lead_id: UUID,
    note_id: UUID,
    note: str | None = None,
    mentions: Collection[Membership] = (),
) -> Json | None:
    """Change the text of a note, notify the members, and return its JSON.

    Raises as `find_own_note` does, and BeingErased while a worker erases the lead. Locks the lead.
    """
    row = lock_own_note(organization, actor, lead_id, note_id)
    before = LeadNoteDetailSerializer.get_text(organization, row.pk)
    change_text(row, note)
    notify_mentioned(row, mentions, actor)
    record_event(NOTE_UPDATED, row, actor=actor, before=before)
    return LeadNoteItemSerializer.get(organization, row.pk)


@atomic_with_retry
def delete_lead_note(*, organization: Organization, actor: Actor, lead_id: UUID, note_id: UUID) -> None:
    """Delete a note; raises as `change_lead_note` does. Locks the lead."""
    row = lock_own_note(organization, actor, lead_id, note_id)
    record_event(NOTE_DELETED, row, actor=actor)
    DeletedLeadNote.objects.create(id=row.pk, organization=organization, lead_id=row.lead_id)
    row.delete()


def change_text(note: EditableNote, text: str | None) -> None:
    if text and text != note.note:
        note.note, note.edited_at = text, now()
        note.save(update_fields=["note", "edited_at"])


def pin_note(*, note: EditableNote, is_pinned: bool) -> None:
    """Show a note above the others, or no longer. No one is notified: pages alone show it."""
    type(note).objects.of(note.organization).filter(pk=note.pk).update(is_pinned=is_pinned)


def lock_own_note(organization: Organization, actor: Actor, lead_id: UUID, note_id: UUID) -> LeadNote:
    lead = lock_known_lead(organization, lead_id)
    note: LeadNote = find_own_note(LeadNote.objects.of(organization).filter(lead=lead), note_id, actor)
    check_not_being_erased(lead)
    note.organization = organization
    return note


def find_repeated(notes: QuerySet[Any], text: str, reference: str | None) -> Any | None:  # noqa: ANN401  # either model
    """Return the note of a locked lead or appointment that a request repeats: with the same reference and text.

    Without a reference any note with the text. Raises Conflict if the reference has another text.
    """
    known = notes.filter(external_reference=reference) if reference else notes
    note = known.filter(note=text).first()
    if note is None and reference and known.exists():
        raise Conflict(f"external_reference {reference} already belongs to a note with another text")
    return note


def find_own_note(notes: QuerySet[Any], note_id: UUID, actor: Actor) -> Any:  # noqa: ANN401  # either model
    """Return the note. Raises ResourceNotFound, and NotAllowed if the actor is an API key that hasn't written it.

    Which notes a member may change is decided by the pages, as for all rows.
    """
    note = notes.filter(pk=note_id).first()
    if note is None:
        raise ResourceNotFound
    if actor.kind == ActorKind.API_KEY and (note.actor_kind, note.actor_id) != (actor.kind, actor.id):
        raise NotAllowed("Only the API key that wrote the note can change or delete it")
    return note
