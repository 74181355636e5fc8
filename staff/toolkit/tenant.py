"""`TenantAdmin`: base of the admin pages of rows that belong to an organization.

Users see the rows of their organizations only: in lists, searches, filters, autocompletion, selects and histories, and
when they send another row's id by hand. A form belongs to one organization; users of several organizations choose one
before they add a row.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib.admin.utils import get_fields_from_path, unquote
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import ForeignKey, Model, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern

from organizations.models import CAN_BE_ASSIGNED, Membership, Organization
from organizations.permissions import (
    PERMISSIONS,
    Area,
    current_user,
    filter_by_role,
    has_role,
    is_operator,
    organization_ids,
    organizations_with_role,
    roles_by_organization,
)
from staff.toolkit import bulk, columns, saved_views
from staff.toolkit.actions import AnyRow, renew_id
from staff.toolkit.base import ServiceAdmin
from staff.toolkit.fields import RowField
from staff.toolkit.filters import ChoicesFilter, RelatedFilter, YesNoFilter
from staff.toolkit.forms import ServiceForm
from staff.toolkit.views import ListPart, show_list
from webhooks.models import Event


class TenantForm(ServiceForm):
    # What to show when a database constraint would fail: the constraint's name → the field and the message.
    constraint_messages: ClassVar[dict[str, tuple[str, str]]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding:
            self.instance.organization = self.page.chosen_organization(self.request)
        self.organization: Organization = self.instance.organization
        for name, field in self.fields.items():
            if isinstance(field, forms.ModelChoiceField) and field.queryset is not None:
                field.queryset = self.choices(name, field.queryset.model)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if (new_id := cleaned.get("new_id")) and self.was_added(new_id):
            renew_id(self)
            raise ValidationError(
                "What you added with this form before is gone: someone has deleted it, or merged it with another one. "
                "To add it again, save once more."
            )
        return cleaned

    def was_added(self, id: UUID) -> bool:
        """Return whether a row with this id was added, and is gone. Histories and rows may still name it."""
        is_known = Event.objects.of(self.organization).filter(subject_id=id).exists()
        return is_known and not type(self.instance)._base_manager.filter(pk=id).exists()

    def choices(self, name: str, model: type[Model]) -> QuerySet:
        """Return the organization's rows that a field may refer to; of members, the active ones and the present one."""
        rows = self.page.visible_rows(self.request, model).filter(organization=self.organization)
        if model is not Membership:
            return rows
        return rows.filter(CAN_BE_ASSIGNED | Q(pk=getattr(self.instance, f"{name}_id", None)))

    def validate_unique(self) -> None:
        super().validate_unique()
        # Django skips constraints on fields that the form lacks, and the organization is never one of its fields.
        exclude = self._get_validation_exclusions() - {"organization"}  # type: ignore[attr-defined]
        for constraint in self.instance._meta.constraints:
            if constraint.name not in self.constraint_messages:
                continue
            try:
                constraint.validate(type(self.instance), self.instance, exclude=exclude)
            except ValidationError:
                self.add_error(*self.constraint_messages[constraint.name])


class TypedChoice(AutocompleteSelect):
    """Django's autocomplete select, which can also render a submitted value that is not an id."""

    def optgroups(self, name: str, value: Sequence[str], attr: dict[str, Any] | None = None) -> list[Any]:
        try:
            return super().optgroups(name, value, attr)
        except ValidationError:
            return super().optgroups(name, [], attr)


MAX_FILTER_CHOICES = 500


class TenantRelatedFilter(RelatedFilter):
    def field_choices(self, field: Any, request: HttpRequest, model_admin: "TenantAdmin") -> list[tuple[str, str]]:
        # Sources have no limit in number, because any opt-in may bring one, and a wrong column of an import thousands:
        # the oldest are offered. An address can choose the others, too.
        rows = model_admin.visible_rows(request, field.remote_field.model)
        rows = rows.filter(pk__in=rows.order_by("created_at").values("pk")[:MAX_FILTER_CHOICES])
        return [self.choice(row, request) for row in rows]

    def choice(self, row: Any, request: HttpRequest) -> tuple[str, str]:
        if isinstance(row, Organization) or not has_several_organizations(request):
            return str(row.pk), str(row)
        return str(row.pk), f"{row} ({row.organization})"

    def unlisted(self, value: str) -> str:
        rows = self.model_admin.visible_rows(self.request, self.field.remote_field.model).filter(pk=value)
        return next((str(row) for row in rows), "unknown")

    def has_output(self) -> bool:
        """Return whether the filter is offered. Django would ignore a filter by the only choice that there is."""
        return bool(self.used_parameters) or super().has_output()


class TenantAdmin(ServiceAdmin):
    """An admin page of tenant rows. `area` decides which roles may view and change them."""

    area: ClassVar[Area]
    change_list_template, list_before_template = "admin/list.html", "admin/list_views.html"
    list_after_template = "staff/board.html"  # empty unless the layout is a board
    form = TenantForm
    # Relations that a row's name, columns and buttons use. (Django's list_select_related is for lists only.)
    select_related: ClassVar[tuple[str, ...]] = ()
    long_columns: ClassVar[tuple[str, ...]] = ()  # which are read for the page of one row only
    # The condition that a row is assigned to one of these memberships, or unassigned. In an area whose `write_own`
    # names roles, they may write such rows only; without a condition, none.
    own_rows: Callable[[QuerySet[Any]], Q] | None = None

    class Media:
        css: ClassVar[dict[str, list[str]]] = {"all": ["staff/lists.css"]}
        js = ("staff/lists.js",)

    @property
    def list_name(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_changelist"

    def get_urls(self) -> list[URLPattern]:
        parts: list[ListPart] = [*self.layouts, *self.buttons]
        views = [*saved_views.urls(self), *columns.urls(self)] if self.views else []
        own = [*views, *(url for part in parts for url in part.urls(self))]
        return [*own, *super().get_urls()]

    def list_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponseBase:
        if bulk.UNDO in request.POST:
            return bulk.undo_selected(self, request)
        return show_list(self, request, super().list_view)

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        """Return the rows that the user may view. All of Django's admin views start from it."""
        rows = filter_by_role(request, PERMISSIONS[self.area].view, super().get_queryset(request))
        return rows.select_related("organization", *self.select_related).defer(*self.long_columns)

    def visible_rows(self, request: HttpRequest, model: type[Model]) -> QuerySet:
        if model is Organization:
            return organizations_with_role(request, PERMISSIONS[self.area].view)
        rows = model._default_manager.select_related("organization", *(["user"] if model is Membership else []))
        return filter_by_role(request, PERMISSIONS[self.area].view, rows)

    def has_view_permission(self, request: HttpRequest, obj: AnyRow | None = None) -> bool:
        """Return whether the user's role in the row's organization may view it; without a row, in any."""
        return has_role(request, PERMISSIONS[self.area].view, obj and obj.organization_id)

    def has_write_permission(self, request: HttpRequest, obj: AnyRow | None = None) -> bool:
        """Return whether the user may write the row, by their role or because it is their own; without a row, any."""
        permission = PERMISSIONS[self.area]
        if obj is None:
            return has_role(request, permission.add)
        if has_role(request, permission.write, obj.organization_id):
            return True
        if not has_role(request, permission.write_own, obj.organization_id):
            return False
        # Kept for the request, because a page asks dozens of times.
        answers: dict[object, bool] = request.__dict__.setdefault("own_rows", {})
        key = (self.model, obj.pk)
        if key not in answers:
            answers[key] = self.writable_rows(request, self.model._default_manager.filter(pk=obj.pk)).exists()
        return answers[key]

    def writable_rows(self, request: HttpRequest, rows: QuerySet[Any]) -> QuerySet[Any]:
        if is_operator(request):
            return rows
        permission = PERMISSIONS[self.area]
        condition = Q(organization_id__in=organization_ids(request, permission.write))
        if self.own_rows and (sellers_at := organization_ids(request, permission.write_own)):
            members = Membership.unscoped.filter(user=current_user(request)).values("pk")
            condition |= Q(organization_id__in=sellers_at) & self.own_rows(members)
        return rows.filter(condition)

    def writable_ids(self, request: HttpRequest, ids: Collection[UUID]) -> set[UUID]:
        """Return which of the rows with these ids the user may write."""
        if not self.has_write_permission(request):
            return set()
        rows = self.model._default_manager.filter(pk__in=ids)
        return set(self.writable_rows(request, rows).values_list("pk", flat=True))

    def chosen_organization(self, request: HttpRequest) -> Organization | None:
        """Return the organization of a new row: the one in the URL, or else the only one in which the user may add it.

        Returns None if the user has to choose one, also if the list was filtered by another one. Raises Http404 if the
        user may not add rows in the one in the URL: another organization never gets a row that was meant for it.
        """
        candidates = list(organizations_with_role(request, PERMISSIONS[self.area].add))
        named = request.GET.get("organization")
        if named is None:
            filtered = filtered_organization(request)
            is_clear = len(candidates) == 1 and filtered in (None, str(candidates[0].pk))
            return candidates[0] if is_clear else None
        organization = next((row for row in candidates if str(row.pk) == named), None)
        if organization is None:
            raise Http404
        return organization

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, object] | None = None
    ) -> HttpResponse:
        """Show the add form; before it, let users of several organizations choose one."""
        if not self.has_add_permission(request) or self.chosen_organization(request):
            return super().add_view(request, form_url, extra_context)
        organizations = organizations_with_role(request, PERMISSIONS[self.area].add)
        form = forms.Form(initial={"organization": filtered_organization(request)})
        form.fields["organization"] = RowField(organizations, label="For which organization?", empty_label=None)
        context = {
            **self.admin_site.each_context(request),
            "title": f"Add {self.opts.verbose_name}",
            "opts": self.opts,
            "form": form,
            # Sent with the choice, because they may prefill the add form.
            "parameters": [(name, value) for name, value in request.GET.items() if name != "organization"],
        }
        return TemplateResponse(request, "admin/choose_organization.html", context)

    def formfield_for_foreignkey(
        self, db_field: ForeignKey, request: HttpRequest, **kwargs: Any
    ) -> forms.ModelChoiceField | None:
        """Return a choice without rows: `TenantForm` offers those of its organization, so another's id is invalid."""
        kwargs["queryset"] = db_field.remote_field.model._default_manager.none()
        if db_field.name in self.get_autocomplete_fields(request):
            kwargs.setdefault("widget", TypedChoice(db_field, self.admin_site))
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_row(self, request: HttpRequest, object_id: str) -> Any:
        """Return a row that the user may change. Raises Http404 and PermissionDenied."""
        row = self.get_object(request, unquote(object_id))
        if row is None:
            raise Http404
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        return row

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        shown = columns.chosen_columns(self, request) if self.views else list(super().get_list_display(request))
        return [*shown, "organization"] if has_several_organizations(request) else shown

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        filters = [*super().get_list_filter(request), *(["organization"] if has_several_organizations(request) else [])]
        return [self.filter_for(name) if isinstance(name, str) else name for name in filters]

    def filter_for(self, name: str) -> tuple[str, type]:
        """Return the filter for a field. One by a related row must not offer other organizations' rows."""
        field = get_fields_from_path(self.model, name)[-1]
        if field.is_relation:
            return name, TenantRelatedFilter
        return name, ChoicesFilter if getattr(field, "choices", None) else YesNoFilter


def filtered_organization(request: HttpRequest) -> str | None:
    """Return the id of the organization that the list was filtered by, if one of its buttons led here."""
    return QueryDict(request.GET.get("_changelist_filters", "")).get(saved_views.ORGANIZATION_VAR)


def has_several_organizations(request: HttpRequest) -> bool:
    """Return whether the user may see rows of more than one organization, as operators always may."""
    return is_operator(request) or len(roles_by_organization(request)) > 1
