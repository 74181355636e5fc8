"""The page of a record: who it is, what to do next, what happened so far, and below that its form.

`RecordAdmin` is the base of such pages. Apps register what they know about another app's record: sources of its
timeline, links, and cards beside the timeline. That app may import this one, but not the other way round.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple, TypeAlias
from urllib.parse import urlencode
from uuid import UUID

from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import BadRequest
from django.db.models import DateTimeField, F, Func, JSONField, Model, Q, QuerySet, Value
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString

from organizations.admin.actions import AnyRow, ObjectAction, row_url
from organizations.admin.tenant import TenantAdmin
from organizations.versions import Change
from pipeline_backend.db.timestamps import isoformat_z

PAGE = 50  # entries of the timeline
# Fields of the API that have another name in the model, or none because they follow from another field.
FIELD_NAMES = {"appointment_event_type": "event_type", "appointment_type": "", "no_show": ""}


class Fact(NamedTuple):
    """A line of a record: a label and a text, as a link if it has a URL, and with a button that copies it."""

    label: str
    text: str | SafeString
    url: str = ""
    can_copy: bool = False


class Card(NamedTuple):
    """A group of facts beside the timeline."""

    title: str
    facts: Sequence[Fact]


class Detail(NamedTuple):
    """A line below an entry of the timeline: a value, and of a change also what it was before."""

    label: str
    text: str
    before: str | None = None


class TimelineEntry(NamedTuple):
    """One thing that happened: what, who and when. `id` is the row's, and orders entries of the same time.

    `body` is a text that somebody wrote. Changes in `details` are always visible, other details are folded.
    """

    at: datetime
    id: UUID
    kind: str
    text: str | SafeString
    actor_name: str = ""
    body: str = ""
    details: Sequence[Detail] = ()
    url: str = ""

    @property
    def folded(self) -> list[Detail]:
        """The details that are no changes."""
        return [detail for detail in self.details if detail.before is None]


class Cursor(NamedTuple):
    """The place in a timeline after which a page begins: its last entry that is newer."""

    at: datetime
    id: UUID


# Returns the newest entries about a record that are older than the cursor: at most `PAGE` + 1, as `newest` limits them.
TimelineQuery: TypeAlias = Callable[[HttpRequest, Any, Cursor | None], Iterable[TimelineEntry]]


class TimelineSource(NamedTuple):
    """Where entries come from. Several sources may have one kind, which people can filter by."""

    kind: str
    label: str
    query: TimelineQuery
    is_allowed: Callable[[HttpRequest, Any], bool]


class Timeline(NamedTuple):
    """A page of the timeline: its entries, newest first, the kinds to filter by, and the address of older entries."""

    entries: Sequence[TimelineEntry]
    kinds: dict[str, str]
    kind: str
    newest: str
    older: str


class RecordLink(NamedTuple):
    """A button that leads to another page. Without an address the user has no such button."""

    label: str
    url: Callable[[HttpRequest, Any], str]
    key: str = ""


class RecordButton(NamedTuple):
    """A button of the page: a link, or a form that opens below it. `key` is the key that does the same."""

    label: str
    url: str
    key: str = ""
    question: str = ""
    form: Any = None
    state: str | None = None
    is_danger: bool = False


class RecordAdmin(TenantAdmin):
    """Base of the pages of records. A new row has the form only."""

    change_form_template, object_history_template = "admin/record.html", "admin/record_history.html"
    # The names of the buttons that are always visible, and their keys; the others are under "More".
    main_buttons: ClassVar[dict[str, str]] = {}
    status_button = ""  # the button that the badge opens
    notice_buttons: ClassVar[tuple[str, ...]] = ()  # those that a notice has, and "More" doesn't repeat
    sources: ClassVar[tuple[TimelineSource, ...]] = ()
    links: ClassVar[tuple[RecordLink, ...]] = ()
    cards: ClassVar[tuple[Callable[[HttpRequest, Any], Card | None], ...]] = ()
    notices: ClassVar[tuple[Callable[[HttpRequest, Any], SafeString | str], ...]] = ()

    @classmethod
    def register_source(
        cls,
        kind: str,
        label: str,
        query: TimelineQuery,
        *,
        is_allowed: Callable[[HttpRequest, Any], bool] = lambda request, row: True,
    ) -> None:
        """Show entries of this kind in the timeline, to those who are allowed to see them."""
        cls.sources = (*cls.sources, TimelineSource(kind, label, query, is_allowed))

    @classmethod
    def register_link(cls, link: RecordLink) -> None:
        """Show a link among the buttons."""
        cls.links = (*cls.links, link)

    @classmethod
    def register_card(cls, card: Callable[[HttpRequest, Any], Card | None]) -> None:
        """Show a card beside the timeline; `card(request, row)` may return None."""
        cls.cards = (*cls.cards, card)

    @classmethod
    def register_notice(cls, notice: Callable[[HttpRequest, Any], SafeString | str]) -> None:
        """Show a notice above the facts; `notice(request, row)` returns HTML, or nothing."""
        cls.notices = (*cls.notices, notice)

    def record_title(self, row: AnyRow) -> str:
        """Return the heading of the page."""
        return str(row)

    def record_badge(self, row: AnyRow) -> SafeString | str:
        """Return the label of the row's status as HTML."""
        return ""

    def record_facts(self, request: HttpRequest, row: AnyRow) -> Sequence[Fact]:
        """Return the facts below the heading."""
        return ()

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: AnyRow | None = None,
    ) -> HttpResponse:
        """Add the record to the page of an existing row."""
        context["show_save_and_add_another"] = context["show_save_and_continue"] = False
        if obj is not None:
            context["record"] = self.record_context(request, obj)
            if not self.has_change_permission(request, obj):
                context["adminform"].form._meta.help_texts = {}  # they say what a change would do
        return super().render_change_form(request, context, add, change, form_url, obj)

    def response_post_save_change(self, request: HttpRequest, obj: AnyRow) -> HttpResponse:
        """Show the record after saving it."""
        return redirect(row_url(obj))

    response_post_save_add = response_post_save_change

    def record_context(self, request: HttpRequest, row: AnyRow) -> dict[str, object]:
        """Return what the template shows above the form."""
        buttons = self.action_buttons(request, row)
        status_button = buttons.pop(self.status_button, None)
        for name in self.notice_buttons:
            buttons.pop(name, None)
        links = [RecordButton(link.label, url, link.key) for link in self.links if (url := link.url(request, row))]
        return {
            "title": self.record_title(row),
            "badge": self.record_badge(row),
            "status_button": status_button,
            "facts": self.record_facts(request, row),
            "notices": [html for notice in self.notices if (html := notice(request, row))],
            "main": [*links, *(buttons.pop(name) for name in self.main_buttons if name in buttons)],
            "more": list(buttons.values()),
            "timeline": self.timeline(request, row),
            "cards": [card for build in self.cards if (card := build(request, row))],
            "can_edit": self.has_change_permission(request, row),
        }

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        """Return no buttons for Unfold's header: the record has its own."""
        return []

    def action_buttons(self, request: HttpRequest, row: AnyRow) -> dict[str, RecordButton]:
        """Return the buttons that the row has for the user, by their names; the main ones with their forms."""
        buttons: dict[str, RecordButton] = {}
        for name in self.actions_detail:
            action: ObjectAction = getattr(self, name).button
            if not (action.is_allowed(self, request, row) and action.is_possible(row)):
                continue
            is_open_here = name in self.main_buttons or name == self.status_button
            buttons[name] = RecordButton(
                action.label,
                reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{name}", args=[quote(row.pk)]),
                self.main_buttons.get(name, ""),
                question=action.question_about(row) if is_open_here else "",
                form=action.form(subject=row, request=request, auto_id=f"{name}_%s") if is_open_here else None,
                state=str(action.once(row)) if action.once else None,
                is_danger=action.danger,
            )
        return buttons

    def timeline(self, request: HttpRequest, row: AnyRow) -> Timeline:
        """Return the page of the timeline that the address asks for. Raises BadRequest for an invalid one."""
        sources = [source for source in self.sources if source.is_allowed(request, row)]
        kinds = {source.kind: source.label for source in sources}
        kind, cursor = request.GET.get("kind", ""), parse_cursor(request.GET.get("older", ""))
        if kind and kind not in kinds:
            raise BadRequest("The timeline has no such kind.")
        entries = [
            entry for source in sources if kind in ("", source.kind) for entry in source.query(request, row, cursor)
        ]
        return page_of(entries, kinds, kind, cursor)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the changes of all fields with old and new values, above Django's log of the actions."""
        row = self.get_object(request, unquote(object_id))
        context = extra_context or {}
        if row is not None and self.has_view_permission(request, row):
            cursor = parse_cursor(request.GET.get("older", ""))
            changes = self.change_entries(row, list(newest(row.changes.all(), cursor)))
            context = {**context, "timeline": page_of(changes, {}, "", cursor)}
        return super().history_view(request, object_id, context)

    def change_entries(self, row: AnyRow, changes: list[Any]) -> list[TimelineEntry]:
        """Return the entries of the History page about these changes."""
        return [change_entry("changes", change, self.model) for change in changes]


def parse_cursor(text: str) -> Cursor | None:
    """Return the cursor in a link to older entries, or None without one. Raises BadRequest for another text."""
    if not text:
        return None
    at, _, id = text.partition("_")
    try:
        return Cursor(datetime.fromisoformat(at).astimezone(UTC), UUID(id))
    except (ValueError, OverflowError):
        raise BadRequest("The timeline's address has an invalid value.") from None


def newest(rows: QuerySet[Any], cursor: Cursor | None) -> QuerySet[Any]:
    """Return the newest rows that are older than the cursor, one more than a page has."""
    if cursor:
        # The second condition follows from the first. It tells PostgreSQL where to begin in the index.
        is_older = Q(created_at__lt=cursor.at) | Q(created_at=cursor.at, id__lt=cursor.id)
        rows = rows.filter(is_older, created_at__lte=cursor.at)
    return rows.order_by("-created_at", "-id")[: PAGE + 1]


def fields_without(*names: str) -> Func:
    """Return the expression for the changed fields of a change without these."""
    template = "(%(expressions)s::text[])"
    return Func(F("fields"), Value([*names]), template=template, arg_joiner=" - ", output_field=JSONField())


def page_of(entries: list[TimelineEntry], kinds: dict[str, str], kind: str, cursor: Cursor | None) -> Timeline:
    """Return the page with the newest of the entries, which are those after the cursor."""
    entries.sort(key=lambda entry: (entry.at, entry.id), reverse=True)
    chosen, older = {"kind": kind} if kind else {}, ""
    if len(entries) > PAGE:
        last = entries[PAGE - 1]
        older = "?" + urlencode({**chosen, "older": f"{isoformat_z(last.at)}_{last.id}"})
    return Timeline(entries[:PAGE], kinds, kind, f"?{urlencode(chosen)}" if cursor else "", older)


def when(at: datetime) -> str:
    """Return a time with its weekday, in the current time zone."""
    return date_format(timezone.localtime(at), "DATETIME_FORMAT")


def change_entry(
    kind: str, change: Change, model: type[Model], *, text: str = "", without: Collection[str] = ()
) -> TimelineEntry:
    """Return the entry about changed fields of a row of the model, by default with their names as its text."""
    details = describe_changes(model, {name: pair for name, pair in change.fields.items() if name not in without})
    names = ", ".join(detail.label if number == 0 else lowered(detail.label) for number, detail in enumerate(details))
    return TimelineEntry(
        change.created_at,
        change.pk,
        kind,
        text or (f"{names} changed" if names else "Changed"),
        actor_name=change.actor_name,
        details=details,
    )


def lowered(label: str) -> str:
    """Return the label as it is written inside a sentence."""
    return label if label[1:2].isupper() else label[:1].lower() + label[1:]


def describe_changes(model: type[Model], fields: dict[str, list[Any]]) -> list[Detail]:
    """Return the changed fields as people read them: pairs of old and new values as the API shows them."""
    details: list[Detail] = []
    for name, (before, after) in fields.items():
        if name == "custom_fields":
            details += describe_custom_fields(before, after)
        elif field := FIELD_NAMES.get(name, name):
            column: Any = next((column for column in model._meta.concrete_fields if column.name == field), None)
            label = str(getattr(column, "verbose_name", "") or field.replace("_", " "))
            details.append(Detail(label[:1].upper() + label[1:], shown(column, after), shown(column, before)))
    return sorted(details, key=lambda detail: detail.label)


def describe_custom_fields(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> list[Detail]:
    """Return the custom fields whose values differ."""
    old = {field["id"]: field["value"] for field in before}
    return [
        Detail(str(field["label"]), plain(field["value"]), plain(old.get(field["id"])))
        for field in after
        if field["value"] != old.get(field["id"])
    ]


def shown(column: Any, value: Any) -> str:  # any field, and any JSON
    """Return a value of the column, as the API shows it, as people read it."""
    if isinstance(value, str) and value and isinstance(column, DateTimeField):
        return when(datetime.fromisoformat(value))
    if isinstance(value, str) and getattr(column, "flatchoices", None):
        return str(dict(column.flatchoices).get(value, value))
    return plain(value)


def plain(value: Any) -> str:  # any JSON
    """Return a JSON value as text: of an object its name."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "Yes" if value else "No"
    if isinstance(value, dict):
        name = value.get("name") or value.get("ai_generated_title")
        return str(name or f"{value.get('first_name', '')} {value.get('last_name', '')}".strip() or value.get("email"))
    return ", ".join(map(plain, value)) or "–" if isinstance(value, list) else str(value)
