"""A lead's page as a record: header, buttons, timeline and cards. Other apps register what they know about leads."""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold import widgets
from uuid_utils.compat import uuid7

from leads.models import CustomField, Lead, LeadChange, TouchPointType
from leads.services import add_note, change_status
from organizations.actors import ActorKind, staff_actor
from organizations.permissions import current_user
from staff.configuration.custom_fields import CustomFieldsAdmin
from staff.configuration.statuses import status_label
from staff.toolkit.actions import ConfirmationForm, object_action
from staff.toolkit.record import Card, Fact
from staff.toolkit.timeline import (
    TOO_LONG,
    Cursor,
    TimelineEntry,
    change_entry,
    fields_without,
    newest,
    newest_changes,
    plain,
    when,
)
from statuses.models import Board, Status

TOUCH_POINT = ("next_touch_point_at", "next_touch_point_type")
SET_BY_STAFF = [value for value in TouchPointType.values if value != TouchPointType.APPOINTMENT]


class LeadStatusForm(ConfirmationForm):
    """The form behind the badge."""

    status = forms.ModelChoiceField(Status.unscoped.none(), widget=widgets.UnfoldAdminSelectWidget, empty_label=None)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        status: Any = self.fields["status"]
        statuses = Status.objects.of(self.subject.organization)
        status.queryset = statuses.choices(Board.LEAD, current=self.subject.status_id)
        status.initial = self.subject.status_id


class LeadNoteForm(ConfirmationForm):
    """The form for a note. `new_id` is the note's, so that a form sent twice stores it once."""

    note = forms.CharField(max_length=10_000, widget=widgets.UnfoldAdminTextareaWidget(attrs={"rows": 4}))
    new_id = forms.UUIDField(required=False, initial=uuid7, widget=forms.HiddenInput)

    def clean_new_id(self) -> UUID:
        """Return the id, which must be of the kind that all rows have."""
        new_id: UUID = self.cleaned_data["new_id"] or uuid7()
        if new_id.version != 7:
            raise forms.ValidationError("Open the form again.")
        return new_id


class LeadRecordAdmin(CustomFieldsAdmin):
    """Base of the admin page of leads: what it shows above the form."""

    main_buttons = {"add_note": "n", "set_next_step": "c"}
    status_button = "set_status"
    actions_detail: tuple[str, ...] = ("set_status", "add_note")

    def change_entries(self, row: Lead, changes: list[LeadChange]) -> list[TimelineEntry]:
        """Return the entries of the History page; a merge is called by its name."""
        merged = merged_emails(row, changes)
        return [
            change_entry("changes", change, Lead, text=merge_text(change, merged), without=("previous_ids",))
            for change in changes
        ]

    def record_badge(self, row: Lead) -> SafeString | str:
        return status_label(row.status)

    def record_facts(self, request: HttpRequest, row: Lead) -> Sequence[Fact]:
        """Return how to reach the lead, whose it is, and where it comes from."""
        phone = row.phone_e164
        return [
            Fact("E-mail", row.email, f"mailto:{row.email}", can_copy=True),
            Fact("Phone", phone, f"tel:{phone}", can_copy=True) if phone else Fact("Phone", "–"),
            Fact("Setter", str(row.setter or "Unassigned")),
            Fact("Source", str(row.last_source)),
        ]

    @object_action(
        "Change the status",
        icon="label",
        question="Webhooks are sent. Appointments keep their outcomes.",
        form=LeadStatusForm,
        once=lambda lead: lead.status_id,
        is_same=lambda lead, form: form.is_valid() and lead.status == form.cleaned_data["status"],
    )
    def set_status(self, request: HttpRequest, lead: Lead, form: LeadStatusForm) -> str:
        """Move the lead to the chosen status with the service."""
        status = form.cleaned_data["status"]
        change_status(
            organization=lead.organization,
            actor=staff_actor(current_user(request)),
            lead_id=lead.pk,
            status_id=status.pk,
        )
        return f"The status is now {status}."

    @object_action("Note", icon="edit_note", question="Everyone who can see the lead sees the note.", form=LeadNoteForm)
    def add_note(self, request: HttpRequest, lead: Lead, form: LeadNoteForm) -> str:
        """Store the note with the service."""
        add_note(
            organization=lead.organization,
            actor=staff_actor(current_user(request)),
            lead=lead,
            text=form.cleaned_data["note"],
            id=form.cleaned_data["new_id"],
        )
        return "The note was added."


def facts_card(request: HttpRequest, lead: Lead) -> Card:
    """Return the card with the custom fields, the sources, and the id for support."""
    fields = CustomField.objects.of(lead.organization).filter(entity=CustomField.Entity.LEAD)
    values = {field.label: lead.custom_values.get(str(field.pk)) for field in fields.order_by("position", "key")}
    return Card(
        "Facts",
        [
            *(Fact(label, plain(value)) for label, value in values.items()),
            Fact("First source", str(lead.first_source)),
            Fact("Last source", str(lead.last_source)),
            Fact("Added", when(lead.created_at)),
            Fact("Lead ID", str(lead.pk), can_copy=True),
        ],
    )


def status_changes(request: HttpRequest, lead: Lead, cursor: Cursor | None) -> Iterator[TimelineEntry]:
    """Yield the changes of the lead's status, from the first one on."""
    rows = lead.status_changes.select_related("from_status", "to_status")
    for change in newest(rows, cursor):
        label = status_label(change.to_status)
        is_new = change.from_status is None
        text = (
            format_html("Lead added: {}", label)
            if is_new
            else format_html("Status: {} → {}", status_label(change.from_status), label)
        )
        yield TimelineEntry(change.created_at, change.pk, "statuses", text, actor_name=change.actor_name)


def notes(request: HttpRequest, lead: Lead, cursor: Cursor | None) -> Iterator[TimelineEntry]:
    """Yield what people have noted about the lead."""
    for note in newest(lead.notes.all(), cursor):
        yield TimelineEntry(note.created_at, note.pk, "notes", "Note", actor_name=note.actor_name, body=note.note)


def changes(request: HttpRequest, lead: Lead, cursor: Cursor | None) -> Iterator[TimelineEntry]:
    """Yield the changed fields, without those that other entries tell: the status, and touch points of appointments."""
    is_set_by_staff = Q(actor_kind=ActorKind.STAFF, fields__next_touch_point_type__1__in=SET_BY_STAFF)
    rows = lead.changes.alias(others=fields_without("status", *TOUCH_POINT)).filter(~Q(others={}) | is_set_by_staff)
    found = newest_changes(rows, cursor)
    merged = merged_emails(lead, found)
    for change in found:
        step = change.fields.get("next_step_at")
        text = "" if step is None else "Next step set" if step[1] else "Next step done"
        without = ("status", "previous_ids", *hidden_touch_point(change))
        yield change_entry("changes", change, Lead, text=merge_text(change, merged) or text, without=without)


def merged_emails(lead: Lead, changes: list[LeadChange]) -> dict[UUID, str | None]:
    """Return the e-mails of the merged leads by id, if one of the changes is a merge."""
    is_merged = any("previous_ids" in change.fields for change in changes)
    return dict(lead.merges.values_list("previous_id", "email")) if is_merged else {}


def merge_text(change: LeadChange, merged: dict[UUID, str | None]) -> str:
    """Return what a merge, or undoing one, is called; an empty text for other changes. `merged` has e-mails by id."""
    before, after = change.fields.get("previous_ids", ([], []))
    if after == TOO_LONG:
        return "Merged leads changed"
    if len(before) > len(after):
        return "Merge undone"
    added = [merged.get(UUID(id)) for id in after if id not in before]
    return f"Merged with {added[-1] or 'another lead'}" if added else ""


def hidden_touch_point(change: LeadChange) -> Sequence[str]:
    """Return the fields of the touch point if it follows from an appointment or from the next step."""
    new_type = change.fields.get("next_touch_point_type", [None, None])[1]
    is_set_by_staff = change.actor_kind == ActorKind.STAFF and new_type in SET_BY_STAFF
    return () if is_set_by_staff and "next_step_at" not in change.fields else TOUCH_POINT


LeadRecordAdmin.register_source("notes", "Notes", notes)
LeadRecordAdmin.register_source("statuses", "Status", status_changes)
LeadRecordAdmin.register_source("changes", "Changes", changes)
LeadRecordAdmin.register_card(facts_card)
