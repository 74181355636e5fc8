"""The page of a record: who it is, what to do next, what happened so far, and below that its form.

`RecordAdmin` is the base of such pages. Apps register what they know about another app's record: sources of its
timeline, links, and cards beside the timeline. That app may import this one, but not the other way round.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.safestring import SafeString

from staff.toolkit.actions import AnyRow, ObjectAction, row_url
from staff.toolkit.tenant import TenantAdmin
from staff.toolkit.timeline import (
    Timeline,
    TimelineEntry,
    TimelineQuery,
    TimelineSource,
    change_entry,
    newest_changes,
    page_of,
    parse_cursor,
)


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
            changes = self.change_entries(row, newest_changes(row.changes.all(), cursor))
            context = {**context, "timeline": page_of(changes, {}, "", cursor)}
        return super().history_view(request, object_id, context)

    def change_entries(self, row: AnyRow, changes: list[Any]) -> list[TimelineEntry]:
        """Return the entries of the History page about these changes."""
        return [change_entry("changes", change, self.model) for change in changes]
