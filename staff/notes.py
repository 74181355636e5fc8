"""Notes about leads and appointments: the form with mentions, their lists, and their pages, where they are edited."""

import json
from collections import Counter
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.text import Truncator, get_text_list
from unfold.widgets import UnfoldAdminTextareaWidget
from uuid_utils.compat import uuid7

from appointments import services
from appointments.models import Note
from leads.mentions import MAX_MENTIONS, active_members, find_mentioned
from leads.models import CallResult, EditableNote, LeadNote
from leads.notes import change_lead_note, delete_lead_note, pin_note
from notifications.daily_limit import is_used_up
from notifications.models import Kind
from notifications.services import recipients_of
from organizations.actors import Actor, ActorKind
from organizations.models import Membership, Organization
from organizations.permissions import OWNERS_AND_MANAGERS, PERMISSIONS, Area, current_user, has_role
from staff.toolkit.actions import AnyRow, ConfirmationForm, actor_of, object_action, row_url
from staff.toolkit.fields import LongTextField
from staff.toolkit.forms import NewIdField
from staff.toolkit.lists import column
from staff.toolkit.newest_search import HELP, NewestSearchAdmin
from staff.toolkit.tenant import TenantForm

MAX_SHOWN = 3  # of the words after an @ that are nobody's name
MAX_OFFERED = 500  # members whose names a form has; others are typed
MAX_CHARACTERS = 120  # of a note in a list
AUTHOR = ("actor_name", "created_at", "edited_at")


def may_note(request: HttpRequest, row: AnyRow) -> bool:
    """Return whether the user may write notes in the row's organization: about every lead and appointment of it."""
    return has_role(request, PERMISSIONS[Area.WORK].add, row.organization_id)


def may_edit(request: HttpRequest, note: EditableNote) -> bool:
    """Return whether the user has written the note, or is an owner or manager."""
    if has_role(request, OWNERS_AND_MANAGERS, note.organization_id):
        return True
    is_own = (note.actor_kind, note.actor_id) == (ActorKind.STAFF, current_user(request).pk)
    return is_own and may_note(request, note)


class NoteField(LongTextField):
    """The text of a note. A script offers the members' names after an `@`; without it, they are typed."""

    class Widget(UnfoldAdminTextareaWidget):
        class Media:
            js = ("staff/mentions.js",)

    def __init__(self, **options: Any) -> None:
        help_text = "Type @ and a name to notify a colleague."
        super().__init__(**{"help_text": help_text, "widget": self.Widget(attrs={"rows": 4}), **options})

    def offer(self, organization: Organization) -> None:
        members = list(active_members(organization)[:MAX_OFFERED])
        times = Counter(map(str, members))
        names = [str(row) if times[str(row)] == 1 else row.user.email for row in members]
        self.widget.attrs["data-mentions"] = json.dumps(names)


def checked_mentions(organization: Organization, text: str) -> tuple[set[Membership], list[str]]:
    members, unknown = find_mentioned(organization, text)
    if len(members) > MAX_MENTIONS:
        raise forms.ValidationError(f"Mention at most {MAX_MENTIONS} colleagues.")
    return members, unknown


class NoteForm(ConfirmationForm):
    """The form for a note. `new_id` is the note's, so that a form sent twice stores it once."""

    note = NoteField()
    new_id = NewIdField()
    mentions: set[Membership]
    unknown: list[str]  # what stands after an @ and is nobody's name

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["note"].offer(self.subject.organization)

    def clean_note(self) -> str:
        text = str(self.cleaned_data["note"])
        self.mentions, self.unknown = checked_mentions(self.subject.organization, text)
        return text

    @property
    def values(self) -> dict[str, Any]:
        """The arguments of the services that add notes."""
        id = self.cleaned_data["new_id"] or uuid7()
        return {"text": self.cleaned_data["note"], "id": id, "mentions": self.mentions}


def added_text(form: NoteForm, actor: Actor) -> str:
    """Return the message about a new note: which colleagues that it mentions get an e-mail, and which don't.

    An @ that names nobody is shown, because a first name alone doesn't mention anybody.
    """
    members = sorted((member for member in form.mentions if member.user_id != actor.id), key=str)
    organization = form.subject.organization
    is_limited = is_used_up(organization.pk, "mention")
    recipients = [] if is_limited else recipients_of(organization, Kind.MENTIONED, members)
    names = [str(member) for member in recipients]
    others = [str(member) for member in members if member not in recipients]
    sentences = ["Note added."]
    if names:
        sentences.append(f"We'll e-mail {get_text_list(names, 'and')}.")
    if others:
        sentences.append(f"{get_text_list(others, 'and')} will get no e-mail about it.")
    if form.unknown:
        names = [f"@{name}" for name in form.unknown[:MAX_SHOWN]]
        sentences.append(f"No colleague is called {get_text_list(names, 'or')}: write the full name or the e-mail.")
    return " ".join(sentences)


class NoteChangeForm(TenantForm):
    """The form of a stored note. Of a call, the result at the beginning of the text stays."""

    note = NoteField()
    mentions: set[Membership]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "note" in self.fields:
            self.fields["note"].offer(self.organization)
            self.fields["note"].required = not self.call_result
            self.initial["note"] = self.instance.note.removeprefix(self.call_result).removeprefix(": ")

    @property
    def call_result(self) -> str:
        result = getattr(self.instance, "call_result", None)
        return str(CallResult(result).label) if result else ""

    def clean_note(self) -> str:
        text = str(self.cleaned_data["note"])
        self.mentions, _ = checked_mentions(self.organization, text)
        if "note" not in self.changed_data:
            return str(self.instance.note)
        return ": ".join(filter(None, [self.call_result, text]))


def record_url(note: Any) -> str:
    return f"{row_url(note.lead if isinstance(note, LeadNote) else note.appointment)}#record-timeline"


def back(request: HttpRequest, note: Any, result: str) -> HttpResponse:
    messages.success(request, result)
    return redirect(record_url(note))


@object_action(
    "Pin",
    name="pin",
    icon="arrow_upward",
    question="Show this note above the others?",
    permission="pin",
    is_possible=lambda note: not note.is_pinned,
    next_url=lambda request, note: record_url(note),
    answer=back,
)
def pin(page: Any, request: HttpRequest, note: Any, form: ConfirmationForm) -> str:
    pin_note(note=note, is_pinned=True)
    return "The note is pinned."


@object_action(
    "Unpin",
    name="unpin",
    icon="arrow_downward",
    question="Show this note among the others again?",
    permission="pin",
    is_possible=lambda note: note.is_pinned,
    next_url=lambda request, note: record_url(note),
    answer=back,
)
def unpin(page: Any, request: HttpRequest, note: Any, form: ConfirmationForm) -> str:
    pin_note(note=note, is_pinned=False)
    return "The note is no longer pinned."


class NotePage(NewestSearchAdmin):
    """Base of the pages of notes, which are added on the page of their lead or appointment."""

    area = Area.WORK
    can_add = False
    can_delete = True
    form = NoteChangeForm
    actions_detail = ("pin", "unpin")
    pin, unpin = pin, unpin
    note_start = column("Note", lambda note: Truncator(note.note[: MAX_CHARACTERS + 1]).chars(MAX_CHARACTERS))
    ordering = ("-id",)  # which rises with time, and has an index

    def has_write_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_write_permission(request) if obj is None else may_edit(request, obj)

    def has_pin_permission(self, request: HttpRequest, obj: Any) -> bool:
        return may_note(request, obj)

    def response_post_save_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        return redirect(record_url(obj))

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        request.record_url = record_url(obj)  # type: ignore[attr-defined]
        super().delete_model(request, obj)

    def response_delete(self, request: HttpRequest, obj_display: str, obj_id: Any) -> HttpResponse:
        super().response_delete(request, obj_display, obj_id)  # which says that it was deleted
        return redirect(request.record_url)  # type: ignore[attr-defined]


@admin.register(LeadNote)
class LeadNoteAdmin(NotePage):
    empty_text = "Open a lead and choose Note."
    list_display = ("note_start", "lead", "actor_name", "created_at")
    select_related = ("lead",)
    search_fields = ("note", "actor_name", "lead__email")
    search_help_text = f"Search by text, author or the lead's e-mail. {HELP}"
    fields = ("lead", "note", AUTHOR)
    readonly_fields = ("lead", *AUTHOR)

    def save_model(self, request: HttpRequest, obj: LeadNote, form: NoteChangeForm, change: bool) -> None:
        former, _ = find_mentioned(obj.organization, form.initial["note"])
        change_lead_note(
            organization=obj.organization,
            actor=actor_of(request),
            lead_id=obj.lead_id,
            note_id=obj.pk,
            note=form.cleaned_data["note"],
            mentions=form.mentions - former,
        )

    @staticmethod
    def delete_service(*, organization: Organization, actor: Any, note: LeadNote) -> None:
        delete_lead_note(organization=organization, actor=actor, lead_id=note.lead_id, note_id=note.pk)

    service_argument = "note"


@admin.register(Note)
class NoteAdmin(NotePage):
    empty_text = "Open an appointment and choose Note."
    list_display = ("note_start", "appointment", "actor_name", "created_at")
    select_related = ("appointment__lead",)
    search_fields = ("note", "actor_name", "appointment__lead__email")
    search_help_text = f"Search by text, author or the lead's e-mail. {HELP}"
    fields = ("appointment", "note", "mention_users", AUTHOR)
    readonly_fields = ("appointment", "mention_users", *AUTHOR)

    def save_model(self, request: HttpRequest, obj: Note, form: NoteChangeForm, change: bool) -> None:
        # The API can mention members whom the text doesn't name.
        former, _ = find_mentioned(obj.organization, form.initial["note"])
        mentions = [*({*obj.mention_users.all()} - former) | form.mentions]
        services.change_note(
            organization=obj.organization,
            actor=actor_of(request),
            appointment_id=obj.appointment_id,
            note_id=obj.pk,
            changes={"note": form.cleaned_data["note"], "mentions": mentions, "named_before": former},
        )

    @staticmethod
    def delete_service(*, organization: Organization, actor: Any, note: Note) -> None:
        services.delete_note(
            organization=organization, actor=actor, appointment_id=note.appointment_id, note_id=note.pk
        )

    service_argument = "note"
