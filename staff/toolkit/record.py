"""The page of a record: who it is, what to do next, what happened so far, and below that its form."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeAlias

from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils.safestring import SafeString

from leads.models import CustomField
from organizations.isolation.tenancy import TenantModel
from organizations.models import Organization
from organizations.permissions import PERMISSIONS, has_role
from staff.toolkit.actions import AnyRow, ObjectAction, row_url
from staff.toolkit.base import Fieldsets
from staff.toolkit.custom_fields import CustomValuesForm, build_form_field, form_field_name
from staff.toolkit.custom_lists import custom_columns, custom_filters, unlisted_filters
from staff.toolkit.tenant import TenantAdmin
from staff.toolkit.timeline import (
    Timeline,
    TimelineEntry,
    TimelineSource,
    change_entry,
    newest_changes,
    page_of,
    parse_cursor,
)


class Fact(NamedTuple):
    """A labeled text of a record, as a link if it has a URL, with buttons that copy and that change it."""

    label: str
    text: str | SafeString
    url: str = ""
    can_copy: bool = False
    button: Any = None  # a RecordButton


class Card(NamedTuple):
    title: str
    facts: Sequence[Fact]


class RecordButton(NamedTuple):
    """A button of the page: a link, or a form that opens below it. `key` is the key that does the same."""

    label: str
    url: str
    key: str = ""
    question: str = ""
    form: Any = None
    state: str | None = None
    is_danger: bool = False


Action: TypeAlias = Any  # a function that `object_action` has made


class RecordAdmin(TenantAdmin):
    """Base of the pages of records, which have custom fields. A new row has the form only."""

    change_form_template, object_history_template = "admin/record.html", "admin/record_history.html"
    form = CustomValuesForm
    entity: ClassVar[CustomField.Entity]
    status_button: ClassVar[Action]  # the badge opens it
    fact_buttons: ClassVar[dict[str, Action]] = {}  # by the labels of the facts that they change
    notices: ClassVar[Sequence[Callable[["RecordAdmin", HttpRequest, Any], SafeString | str]]] = ()
    notice_buttons: ClassVar[Sequence[Action]] = ()  # are inside a notice
    links: ClassVar[Sequence[Callable[[HttpRequest, Any], RecordButton | None]]] = ()
    main_buttons: ClassVar[dict[Action, str]]  # with their keys
    more_buttons: ClassVar[Sequence[Action]]
    sources: ClassVar[Sequence[TimelineSource]]
    pinned: ClassVar[Sequence[Callable[[Any], Iterable[TimelineEntry]]]] = ()  # entries above the timeline's
    cards: ClassVar[Sequence[Callable[["RecordAdmin", HttpRequest, Any], Card | None]]]

    def get_urls(self) -> list[URLPattern]:
        actions = [self.status_button, *self.fact_buttons.values(), *self.notice_buttons]
        actions += [*self.main_buttons, *self.more_buttons]
        prefix = f"{self.opts.app_label}_{self.opts.model_name}"
        views = {action.button.name: self.admin_site.admin_view(partial(action, self)) for action in actions}
        own = [path(f"<path:object_id>/{name}/", view, name=f"{prefix}_{name}") for name, view in views.items()]
        return [*own, *super().get_urls()]

    def record_title(self, row: AnyRow) -> str:
        return str(row)

    def record_badge(self, row: AnyRow) -> SafeString | str:
        raise NotImplementedError

    def record_facts(self, row: AnyRow) -> Sequence[Fact]:
        raise NotImplementedError

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: AnyRow | None = None,
    ) -> HttpResponse:
        context["show_save_and_add_another"] = context["show_save_and_continue"] = False
        if obj is not None:
            # A refused form has filled `obj` with what was typed.
            stored = self.get_object(request, str(obj.pk)) if request.method == "POST" else obj
            context["record"] = self.record_context(request, stored or obj)
            if not self.has_change_permission(request, obj):
                context["adminform"].form._meta.help_texts = {}  # they say what a change would do
        return super().render_change_form(request, context, add, change, form_url, obj)

    def response_post_save_change(self, request: HttpRequest, obj: AnyRow) -> HttpResponse:
        return redirect(row_url(obj))

    response_post_save_add = response_post_save_change

    def record_context(self, request: HttpRequest, row: AnyRow) -> dict[str, object]:
        links, more = (link(request, row) for link in self.links), self.offered(request, row, self.more_buttons)
        return {
            "title": self.record_title(row),
            "badge": self.record_badge(row),
            "status_button": next(iter(self.open_buttons(request, row, {self.status_button: ""})), None),
            "notices": [html for notice in self.notices if (html := notice(self, request, row))],
            "facts": [self.with_button(request, row, fact) for fact in self.record_facts(row)],
            "main": [*filter(None, links), *self.open_buttons(request, row, self.main_buttons)],
            "more": [RecordButton(button.label, button.url(row), is_danger=button.danger) for button in more],
            "timeline": self.timeline(request, row),
            "pinned": [entry for find in self.pinned for entry in find(row)],
            "cards": [card for build in self.cards if (card := build(self, request, row))],
            "can_edit": self.has_change_permission(request, row),
        }

    def with_button(self, request: HttpRequest, row: AnyRow, fact: Fact) -> Fact:
        action = self.fact_buttons.get(fact.label)
        buttons = self.open_buttons(request, row, {action: ""}) if action else ()
        return fact._replace(button=next(iter(buttons), None))

    def offered(self, request: HttpRequest, row: AnyRow, actions: Iterable[Action]) -> list[ObjectAction]:
        return [action.button for action in actions if action.button.is_offered(self, request, row)]

    def open_buttons(self, request: HttpRequest, row: AnyRow, keys: dict[Action, str]) -> list[RecordButton]:
        return [
            RecordButton(
                button.label,
                button.url(row),
                key,
                question=button.question_about(row),
                form=button.form(subject=row, request=request, auto_id=f"{button.name}_%s"),
                state=str(button.state(row)) if button.state else None,
                is_danger=button.danger,
            )
            for action, key in keys.items()
            for button in self.offered(request, row, [action])
        ]

    def timeline(self, request: HttpRequest, row: AnyRow) -> Timeline:
        """Return the page of the timeline that the address asks for. Raises BadRequest for an invalid one."""
        sources = [source for source in self.sources if source.is_allowed(request, row)]
        kinds = {source.kind: source.label for source in sources}
        kind, cursor = request.GET.get("kind", ""), parse_cursor(request.GET.get("older", ""))
        if kind and kind not in kinds:
            raise BadRequest("The timeline has no such kind.")
        chosen = [source for source in sources if (source.kind == kind if kind else not source.on_request)]
        entries = [entry for source in chosen for entry in source.query(row, cursor)]
        return page_of(entries, kinds, kind, cursor)

    def has_note_permission(self, request: HttpRequest, obj: AnyRow) -> bool:
        """Return whether the user may write notes: about every row of the organization, also a colleague's."""
        return has_role(request, PERMISSIONS[self.area].add, obj.organization_id)

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
        return [change_entry(change, self.model) for change in changes]

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        return [*super().get_list_filter(request), *custom_filters(self, request)]

    def unlisted_filters(self, request: HttpRequest) -> list[str]:
        return unlisted_filters(self, request)

    def get_more_columns(self, request: HttpRequest) -> list[Any]:
        return [*super().get_more_columns(request), *custom_columns(self, request)]

    def custom_fields(self, request: HttpRequest, obj: TenantModel | None) -> list[CustomField]:
        """Return the form's custom fields: those of the organization, but none for users who may only view the page."""
        organization: Organization | None = obj.organization if obj else self.chosen_organization(request)
        may_write = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        if organization is None or not may_write or not issubclass(self.form_class(obj), CustomValuesForm):
            return []
        return list(CustomField.objects.of(organization).filter(entity=self.entity).order_by("position", "key"))

    def get_fieldsets(self, request: HttpRequest, obj: TenantModel | None = None) -> Fieldsets:
        groups: Fieldsets = list(super().get_fieldsets(request, obj))
        names = [form_field_name(field.pk) for field in self.custom_fields(request, obj)]
        return [*groups, ("Custom fields", {"fields": names})] if names else groups

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        fields = self.custom_fields(request, obj)
        values = obj.custom_values if obj else {}
        form_fields = {
            form_field_name(field.pk): build_form_field(field, values.get(str(field.pk))) for field in fields
        }
        base = self.form_class(obj)
        kwargs["form"] = type(base.__name__, (base,), {"custom_fields": fields, **form_fields})
        return super().get_form(request, obj, change=change, **kwargs)
