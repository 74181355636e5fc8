"""The parts of a lead's page about the lead itself: status, notes, facts and changes."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html

from leads import services
from leads.models import Lead, LeadChange, LeadNote, TouchPointType
from organizations.actors import ActorKind
from staff.configuration.statuses import status_label
from staff.leads.comparison import custom_fields
from staff.notes import NoteForm, added_text
from staff.toolkit import timeline
from staff.toolkit.actions import ConfirmationForm, actor_of, object_action
from staff.toolkit.custom_lists import in_words
from staff.toolkit.fields import RowField
from staff.toolkit.record import Card, Fact, RecordAdmin
from statuses.models import Board, Status

TOUCH_POINT = ("next_touch_point_at", "next_touch_point_type")
NEXT_STEP = ("next_step_at", "next_step_type", "next_step_note")
SET_BY_STAFF = [value for value in TouchPointType.values if value != TouchPointType.APPOINTMENT]


class LeadStatusForm(ConfirmationForm):
    status = RowField(Status.unscoped.none(), empty_label=None)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        status = self.fields["status"]
        statuses = Status.objects.of(self.subject.organization)
        status.queryset = statuses.choices(Board.LEAD, current=self.subject.status_id)
        status.initial = self.subject.status_id


@object_action(
    "Change the status",
    icon="label",
    question="Appointments keep their outcomes.",
    form=LeadStatusForm,
    state=lambda lead: lead.status_id,
    is_done=lambda lead, form: form.is_valid() and lead.status == form.cleaned_data["status"],
)
def set_status(page: RecordAdmin, request: HttpRequest, lead: Lead, form: LeadStatusForm) -> str:
    status, actor = form.cleaned_data["status"], actor_of(request)
    services.change_status(organization=lead.organization, actor=actor, lead_id=lead.pk, status_id=status.pk)
    return f"Moved to {status}."


@object_action(
    "Note",
    icon="edit_note",
    question="Everyone who can see the lead sees the note.",
    form=NoteForm,
    permission="note",
    is_possible=lambda lead: not lead.is_erased,
)
def add_note(page: RecordAdmin, request: HttpRequest, lead: Lead, form: NoteForm) -> str:
    services.add_note(organization=lead.organization, actor=actor_of(request), lead=lead, **form.values)
    return added_text(form, actor_of(request))


def facts_card(page: RecordAdmin, request: HttpRequest, lead: Lead) -> Card:
    fields = custom_fields(lead)
    return Card(
        "Facts",
        [
            *(Fact(field.label, in_words(field, lead.custom_values.get(str(field.pk)))) for field in fields),
            Fact("First source", str(lead.first_source)),
            Fact("Last source", str(lead.last_source)),
            Fact("Added", timeline.full_time(lead.created_at)),
            Fact("Lead ID", str(lead.pk), can_copy=True),
        ],
    )


def status_changes(lead: Lead, cursor: timeline.Cursor | None) -> Iterator[timeline.TimelineEntry]:
    for change in timeline.newest(lead.status_changes.select_related("from_status", "to_status"), cursor):
        before, text = change.from_status, format_html("Lead added: {}", status_label(change.to_status))
        if before:
            text = format_html("Status: {} → {}", status_label(before), status_label(change.to_status))
        key = ("status", change.to_status.role) if before else None
        detail = timeline.Detail("Lead", str(change.to_status), str(before))
        yield timeline.entry_of(change, "statuses", text, key=key, part_detail=detail)


def notes(lead: Lead, cursor: timeline.Cursor | None) -> Iterator[timeline.TimelineEntry]:
    for note in timeline.newest(lead.notes.filter(call_result=None), cursor):
        yield note_entry(note)


def note_entry(note: LeadNote) -> timeline.TimelineEntry:
    return timeline.entry_of(note, "notes", "Note", body=note.note, note=note)


def changes(lead: Lead, cursor: timeline.Cursor | None) -> Iterator[timeline.TimelineEntry]:
    """Yield the changed fields, without those that have other entries: status, next steps, and touch points of both."""
    is_set_by_staff = Q(actor_kind=ActorKind.STAFF, fields__next_touch_point_type__1__in=SET_BY_STAFF)
    is_set_by_staff &= ~Q(fields__has_key="next_step_at")
    others = timeline.fields_without("status", *TOUCH_POINT, *NEXT_STEP)
    page = timeline.newest_changes(lead.changes.alias(others=others).filter(~Q(others={}) | is_set_by_staff), cursor)
    emails = merged_emails(lead, page)
    for change in page:
        without = ("status", "previous_ids", *NEXT_STEP, *hidden_touch_point(change))
        yield timeline.change_entry(change, Lead, text=merge_text(change, emails), without=without)


def merged_emails(lead: Lead, changes: list[LeadChange]) -> dict[UUID, str | None]:
    is_merged = any("previous_ids" in change.fields for change in changes)
    return dict(lead.merges.values_list("previous_id", "email")) if is_merged else {}


def merge_text(change: LeadChange, emails: dict[UUID, str | None]) -> str:
    """Return the text for a merge and for its undoing; "" for other changes."""
    before, after = change.fields.get("previous_ids", ([], []))
    if after == timeline.TOO_LONG:
        return "Merged leads changed"
    if len(before) > len(after):
        return "Merge undone"
    added = [emails.get(UUID(id)) for id in after if id not in before]
    return f"Merged with {added[-1] or 'another lead'}" if added else ""


def hidden_touch_point(change: LeadChange) -> Sequence[str]:
    """Return the fields of the touch point if it follows from an appointment or from the next step."""
    new_type = change.fields.get("next_touch_point_type", [None, None])[1]
    is_set_by_staff = change.actor_kind == ActorKind.STAFF and new_type in SET_BY_STAFF
    return () if is_set_by_staff and "next_step_at" not in change.fields else TOUCH_POINT
