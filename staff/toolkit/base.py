"""Base of every admin page: services do all writes, and the form shows a service's error."""

import json
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import cached_property
from http import HTTPStatus
from typing import Any, ClassVar, TypeAlias

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import flatten_fieldsets, unquote
from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import BadRequest, ValidationError
from django.db import IntegrityError, transaction
from django.db.models import EmailField, Field, Model, QuerySet, Value
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold import forms as unfold_forms
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display
from unfold.fields import UnfoldAdminReadonlyField
from unfold.forms import PaginationInlineFormSet
from unfold.views import ChangeList

from foundation.api.exceptions import Conflict, DomainError
from foundation.db.timestamps import MillisecondDateTimeField
from foundation.outbox import Job, State
from staff.toolkit.actions import CHANGED_SINCE, AnyPage, AnyRow, NotDone, actor_of, row_url
from staff.toolkit.fields import EmailInput
from staff.toolkit.forms import ServiceForm
from staff.toolkit.lists import SEARCH_LIMIT, BoundedPaginator, Unreadable, is_too_long_to_search
from staff.toolkit.times import TimestampField, TimestampWidget
from staff.toolkit.views import TABLE, Layout, ListButton, View, ViewChangeList

STATE_COLORS = {
    State.PENDING.label: "info",
    State.DONE.label: "success",
    State.DEAD.label: "danger",
    State.CANCELED.label: "warning",
}

SAME_VALUE = "Someone else just saved a record with the same value. Check the list before you try again."

# The title and the options of each group of fields.
Fieldsets: TypeAlias = Sequence[tuple[str | None, dict[str, Any]]]


class ReadOnlyField(UnfoldAdminReadonlyField):
    """A value that can't be edited. It is a link to a related row only if the user may see that row's page."""

    @cached_property
    def text(self) -> SafeString:
        text: SafeString = super().contents()
        return text

    def contents(self) -> SafeString:
        return self.text  # Unfold's template asks up to three times, and what a page computes may take statements

    def _resolve_field(self) -> Any:
        # Unfold reads the value to learn whether it is a file or JSON, which no method of a page returns.
        return not hasattr(self.model_admin, self.field["field"]) and super()._resolve_field()

    def get_admin_url(self, remote_field: Any, remote_obj: Model) -> str:
        # An inline's rows have no ServiceForm, and only users who may see all of them see the page.
        request, pages = getattr(self.form, "request", None), self.model_admin.admin_site._registry
        page = pages.get(remote_field.model)
        if request and page and not page.has_view_permission(request, remote_obj):
            return str(remote_obj)
        return str(super().get_admin_url(remote_field, remote_obj))


unfold_forms.UnfoldAdminReadonlyField = ReadOnlyField  # Unfold has no setting for it


class ServiceAdmin(ModelAdmin):
    # The services that store a row as the form has filled it in, and delete it. Their arguments are `organization` and
    # the row, whose argument's name is `service_argument`. Pages that call others implement `save_model`.
    save_service: Callable[..., object]
    delete_service: Callable[..., object]
    service_argument: str
    can_add = can_change = True
    can_delete = False
    is_read_only = False  # an existing row has no form, although its buttons change it
    form = ServiceForm
    add_form: type[ServiceForm] | None = None  # as in Django's UserAdmin: the form for a new row
    service_error: DomainError | None = None
    change_form_before_template = "admin/hidden_fields.html"
    compressed_fields = False
    list_filter_submit = True
    list_per_page = 50
    paginator = BoundedPaginator
    show_full_result_count = False  # counting a large table takes seconds
    show_facets = admin.ShowFacets.NEVER
    warn_unsaved_form = True
    views: ClassVar[Sequence[View]] = ()  # the first one is the list's without parameters, the last one is ALL
    layouts: ClassVar[Sequence[Layout]] = (TABLE,)
    buttons: ClassVar[Sequence[ListButton]] = ()
    more_columns: ClassVar[Sequence[Any]] = ()  # that a list with views offers beside `list_display`
    related_of_columns: ClassVar[Mapping[str, str]] = {}  # the relations that some of these need
    column_values: ClassVar[Mapping[str, Any]] = {}  # annotations that columns show
    # Lookups that no filter offers, but links of the admin use.
    lookups_of_links: ClassVar[tuple[str, ...]] = ()
    empty_text = ""  # what to do for the first row
    # Finds rows by a search term, in place of Django's search: (page, request, rows, term) -> rows.
    find_rows: Callable[[AnyPage, HttpRequest, QuerySet[Any], str], QuerySet[Any]] | None = None

    def get_more_columns(self, request: HttpRequest) -> list[Any]:
        return list(self.more_columns)

    def unlisted_filters(self, request: HttpRequest) -> list[str]:
        """Return the parameters of filters that the list had, or has if it is filtered by another organization."""
        return []

    def row_link(self, row: Any) -> str:
        """Return where the list's rows lead to, or "" for their own page."""
        return ""

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return ViewChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponseBase:
        """Return the list, or redirect to it without a filter that can't be read, and say what to enter."""
        try:
            response = self.list_view(request, extra_context)
        except Unreadable as error:
            messages.error(request, str(error))
            query = request.GET.copy()
            query[error.parameter] = ""  # not removed: a list without parameters shows its first view
            return redirect(f"{request.path}?{query.urlencode()}")
        if response.status_code == HTTPStatus.OK and is_too_long_to_search(request.GET.get(SEARCH_VAR, "")):
            messages.error(request, SEARCH_LIMIT)
            response.status_code = HTTPStatus.BAD_REQUEST
        return response

    def list_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponseBase:
        response: HttpResponseBase = super().changelist_view(request, extra_context)
        return response

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Return the list. Raises BadRequest for invalid values and pages; Django would redirect to all rows."""
        try:
            return super().get_changelist_instance(request)
        except IncorrectLookupParameters:
            raise BadRequest("The list's address has an invalid value.") from None

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Return the rows that match; none for a search that would be too expensive."""
        if is_too_long_to_search(search_term):
            return queryset.filter(Value(False)), False  # not none(): boards count, which needs a statement
        if self.find_rows and search_term.strip():
            return self.find_rows(self, request, queryset, search_term), False
        return super().get_search_results(request, queryset, search_term)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        # No row has a NUL in its id, which the database would refuse to compare.
        return None if "\0" in object_id else super().get_object(request, object_id, from_field)

    def merged_into(self, request: HttpRequest, object_id: str) -> Any:
        """Return the row that the one with this id was merged into, or None; rows of most pages can't be merged."""
        return None

    def has_write_permission(self, request: HttpRequest, obj: AnyRow | None = None) -> bool:
        """Return whether the user may write the row; without a row, any."""
        return False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.can_add and self.has_write_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: AnyRow | None = None) -> bool:
        return self.can_change and self.has_write_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: AnyRow | None = None) -> bool:
        return self.can_delete and self.has_write_permission(request, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def save_model(self, request: HttpRequest, obj: AnyRow, form: Any, change: bool) -> None:
        if not (change and self.is_read_only):
            self.save_service(organization=obj.organization, actor=actor_of(request), **{self.service_argument: obj})

    def delete_model(self, request: HttpRequest, obj: AnyRow) -> None:
        """Delete the row. Raises NotDone if it has changed since the page with the question was shown."""
        form, version = self.form_of(request, obj), request.POST.get("version")
        if version is not None and not form.is_current(form.lock_row(), version):
            raise NotDone(CHANGED_SINCE)
        self.delete_service(organization=obj.organization, actor=actor_of(request), **{self.service_argument: obj})

    def save_related(self, request: HttpRequest, form: object, formsets: object, change: bool) -> None:
        """Do nothing: inlines are read-only, and the service has written all that belongs to the row."""

    def log_change(self, request: HttpRequest, obj: AnyRow, message: Any) -> None:
        """Log the change with the name that the row has now, and lock it: the lead may be erased meanwhile."""
        with transaction.atomic():
            # no_key: foreign keys to the row can still be checked.
            stored = type(obj)._base_manager.select_for_update(no_key=True).filter(pk=obj.pk).first()
            if stored is not None:
                super().log_change(request, stored, message)

    def construct_change_message(
        self, request: HttpRequest, form: forms.ModelForm, formsets: object, add: bool = False
    ) -> list[dict[str, dict[str, list[str]]]]:
        """Return the log message: the names of the changed fields, without their values."""
        return super().construct_change_message(request, form, None, add)

    def get_form(
        self, request: HttpRequest, obj: AnyRow | None = None, change: bool = False, **kwargs: Any
    ) -> type[ServiceForm]:
        form = super().get_form(request, obj, change=change, **{"form": self.form_class(obj), **kwargs})
        return type(form.__name__, (form,), {"page": self, "request": request})

    def form_class(self, obj: AnyRow | None) -> type[ServiceForm]:
        return self.form if obj else self.add_form or self.form

    def get_readonly_fields(self, request: HttpRequest, obj: AnyRow | None = None) -> Sequence[str]:
        """Return the fields that show stored values, which a new row doesn't have."""
        if obj and self.is_read_only:
            return flatten_fieldsets(super().get_fieldsets(request, obj))
        return self.readonly_fields if obj else ()

    def get_inlines(self, request: HttpRequest, obj: AnyRow | None) -> Sequence[type["ReadOnlyInline"]]:
        return self.inlines if obj else ()  # no other row refers to a new one

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, object] | None = None,
    ) -> HttpResponse:
        """Show the form or save it, once. If a service raises an error, show the form again with it."""
        context = extra_context or {}
        if self.is_read_only:
            others = {"show_save_and_continue": False, "show_save_and_add_another": False}
            context = {**context, **others, "show_save": object_id is None}
        if object_id is None and (response := self.response_if_saved(request)):
            return response
        try:
            return super().changeform_view(request, object_id, form_url, context)
        except (DomainError, IntegrityError) as error:
            # A unique constraint can fail after the form's own check, if the same value was saved in between.
            refusal = error if isinstance(error, DomainError) else Conflict(SAME_VALUE)
        # Django has rolled the failed save back. The same form may have been sent at the same time, and is saved.
        if object_id is None and (response := self.response_if_saved(request)):
            return response
        # The same POST again builds the form with the error, so it isn't valid and nothing is saved. All requests share
        # the page, so it is copied.
        page = copy(self)
        page.service_error = refusal
        return super(ServiceAdmin, page).changeform_view(request, object_id, form_url, context)

    def response_if_saved(self, request: HttpRequest) -> HttpResponse | None:
        """Return the redirect to the row that this form has added when it was sent before, or None if it has not."""
        new_id = request.POST.get("new_id")
        row = self.get_object(request, new_id) if new_id else None
        if row is None:
            return None
        done = f"This form was sent before, and its {self.opts.verbose_name} was saved then. Nothing was added again."
        messages.warning(request, f"{done} To add another one, open a new form.")
        return redirect(row_url(row))

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        """Ask for confirmation or delete. If the service raises an error, show it on the row's page."""
        try:
            return super().delete_view(request, object_id, extra_context)
        except NotDone as error:
            messages.warning(request, f"Delete: {error}")
            return redirect(request.get_full_path())
        except DomainError as error:
            messages.error(request, str(error))
        row = self.get_object(request, unquote(object_id))
        return redirect(row_url(row)) if row else self._get_obj_does_not_exist_redirect(request, self.opts, object_id)

    def render_delete_form(self, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
        version = self.form_of(request, context["object"]).initial["version"]
        return super().render_delete_form(request, {**context, "version": version})

    def form_of(self, request: HttpRequest, row: AnyRow) -> Any:  # a ServiceForm
        return self.get_form(request, row, change=True)(instance=row)

    def get_deleted_objects(
        self, objs: QuerySet | list[Model], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Return the rows alone, without related rows: the service decides whether they may be deleted."""
        return [str(row) for row in objs], {str(self.opts.verbose_name_plural): len(objs)}, set(), []

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        """Run an action on the selected rows. Raises BadRequest if a selected id can't be one."""
        try:
            for selected in request.POST.getlist(ACTION_CHECKBOX_NAME):
                self.opts.pk.to_python(selected)
        except ValidationError:
            raise BadRequest("The selection has an invalid id.") from None
        return super().response_action(request, queryset)

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[Any]:
        row = self.get_object(request, unquote(object_id))
        if row is None:
            return []
        actions = super().get_actions_detail(request, object_id)
        return [action for action in actions if action.method.button.is_offered(self, request, row)]

    def formfield_for_dbfield(self, db_field: Field, request: HttpRequest, **kwargs: Any) -> forms.Field | None:
        """Return the form field, without links to other forms; a timestamp has a year of the API's."""
        if isinstance(db_field, MillisecondDateTimeField):
            kwargs = {"form_class": TimestampField, "widget": TimestampWidget, **kwargs}
        if isinstance(db_field, EmailField):
            kwargs = {"widget": EmailInput, **kwargs}
        field: Any = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is None:
            return None
        for link in ("can_add_related", "can_change_related", "can_delete_related", "can_view_related"):
            if hasattr(field.widget, link):
                setattr(field.widget, link, False)
        return field


@display(description="State", ordering="state", label=STATE_COLORS)  # type: ignore[untyped-decorator]
def state_label(job: Job) -> str:
    return job.get_state_display()


def format_json(data: object) -> SafeString:
    text = json.dumps(data, indent=2, ensure_ascii=False)
    return format_html('<pre style="overflow-wrap:anywhere;white-space:pre-wrap">{}</pre>', text)


class BoundedInlineFormSet(PaginationInlineFormSet):
    """A page of an inline's rows, the first one if the address or the form names none."""

    def get_page_num(self) -> int:
        try:
            return int(super().get_page_num())
        except ValueError:  # too many digits, or one such as ² that int() doesn't read
            return 1


class ReadOnlyInline(TabularInline):
    formset = BoundedInlineFormSet
    extra = 0
    per_page: int | None = 20
    can_delete = False
    show_title = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.hide_title = True  # for Unfold 0.91; later releases warn about it if the class has it

    def get_readonly_fields(self, request: HttpRequest, obj: AnyRow | None = None) -> Sequence[str]:
        return self.fields

    def has_view_permission(self, request: HttpRequest, obj: AnyRow | None = None) -> bool:
        return True

    def has_add_permission(self, request: HttpRequest, obj: AnyRow | None = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission

    @admin.display(description="Page")
    def link(self, row: Model) -> SafeString:
        return format_html('<a class="text-link" href="{}">Open</a>', row_url(row))
