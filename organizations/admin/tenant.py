"""`TenantAdmin`: pages of what belongs to an organization.

A person sees the rows of their organizations and nothing of the others: in lists, searches, filters, autocompletion,
selects, histories, and when an id is sent by hand. A form is always about one organization; who works in several
chooses it before adding.
"""

from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.contrib.filters.admin import BooleanRadioFilter, ChoicesDropdownFilter, RelatedDropdownFilter
from unfold.widgets import UnfoldAdminSelectWidget

from organizations.admin.base import ServiceAdmin, ServiceForm
from organizations.models import Membership, Organization
from organizations.permissions import ALL_ROLES, PERMISSIONS, Area, filter_by_role, has_role, organizations_with_role
from pipeline_backend.db.timestamps import isoformat_z


class TenantForm(ServiceForm):
    """A form about one organization's row."""

    organization: ClassVar[Organization]
    # What to say when a constraint of the database would be broken: its name, the field, the sentence.
    constraint_messages: ClassVar[dict[str, tuple[str, str]]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding:
            self.instance.organization = self.organization
        for name, field in self.fields.items():
            if (
                isinstance(field, forms.ModelChoiceField)
                and field.queryset is not None
                and field.queryset.model is Membership
            ):
                self.limit_to_active(name, field)

    def limit_to_active(self, name: str, field: Any) -> None:
        """Active members, and the one who is there now."""
        active = Q(is_active=True, user__is_active=True)
        field.queryset = field.queryset.filter(active | Q(pk=getattr(self.instance, f"{name}_id", None)))

    def validate_unique(self) -> None:
        """The database's promises that have a sentence here, each broken one said at its field.

        Django leaves them out, because the organization is no field of the form.
        """
        super().validate_unique()
        exclude = self._get_validation_exclusions() - {"organization"}  # type: ignore[attr-defined]
        for constraint in self.instance._meta.constraints:
            try:
                if constraint.name in self.constraint_messages:
                    constraint.validate(type(self.instance), self.instance, exclude=exclude)
            except ValidationError:
                self.add_error(*self.constraint_messages[constraint.name])


class OptimisticLockForm(TenantForm):
    """A form that refuses to overwrite what somebody else has saved since it was opened."""

    version = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            self.initial["version"] = isoformat_z(self.instance.updated_at)

    def clean(self) -> dict[str, Any]:
        """Compare with the row as it is now, locked until this save ends."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if self.instance._state.adding:
            return cleaned
        rows = type(self.instance).objects.of(self.organization).select_for_update(no_key=True)
        if isoformat_z(rows.values_list("updated_at", flat=True).get(pk=self.instance.pk)) != cleaned.get("version"):
            raise ValidationError(
                "Somebody else has changed this since you opened it. Nothing is saved: open it again, look, and enter your changes anew."
            )
        return cleaned


class ChooseOrganizationForm(forms.Form):
    """Where a new row goes."""

    organization = forms.ModelChoiceField(
        Organization.objects.none(), label="For which organization?", empty_label=None, widget=UnfoldAdminSelectWidget
    )

    def __init__(self, choices: QuerySet[Organization]) -> None:
        super().__init__()
        field: Any = self.fields["organization"]
        field.queryset = choices


class TenantRelatedFilter(RelatedDropdownFilter):
    """A filter by a related row that offers the person's own rows only."""

    def field_choices(self, field: Any, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Ids and labels; with the organization's name for who works in several."""
        rows = model_admin.visible_rows(request, field.remote_field.model)
        if field.remote_field.model is Organization or not has_several_organizations(request):
            return [(str(row.pk), str(row)) for row in rows]
        return [(str(row.pk), f"{row} ({row.organization})") for row in rows]


class TenantAdmin(ServiceAdmin):
    """A page of an organization's rows: `area` says who sees and who writes them."""

    area: ClassVar[Area]
    can_add = can_change = True
    can_delete = False
    form = TenantForm
    # What a row's name, columns and buttons need beside the row. (Django's list_select_related would be for lists only.)
    select_related: ClassVar[tuple[str, ...]] = ()

    def get_queryset(self, request: HttpRequest) -> Any:
        """The rows that the person may see: what every view of Django's admin starts from."""
        rows = filter_by_role(request, PERMISSIONS[self.area].view, super().get_queryset(request))
        return rows.select_related("organization", *self.select_related)

    def visible_rows(self, request: HttpRequest, model: type[Any]) -> QuerySet[Any]:
        """Rows of another model that may be shown on this page."""
        if model is Organization:
            return organizations_with_role(request, PERMISSIONS[self.area].view)
        rows = model._default_manager.select_related("organization", *(["user"] if model is Membership else []))
        return filter_by_role(request, PERMISSIONS[self.area].view, rows)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """By the person's role in the row's organization; without a row, in any."""
        return has_role(request, PERMISSIONS[self.area].view, obj and obj.organization_id)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """By role, where the page has an add form."""
        return self.can_add and has_role(request, PERMISSIONS[self.area].write)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """By role, where the page's rows can be changed."""
        return self.can_change and has_role(request, PERMISSIONS[self.area].write, obj and obj.organization_id)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """By role, where a service deletes."""
        return self.can_delete and has_role(request, PERMISSIONS[self.area].write, obj and obj.organization_id)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether the menu has it."""
        return self.has_view_permission(request)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """The form's class, about the row's organization or the chosen one."""
        vars(request)["organization"] = obj.organization if obj else self.chosen_organization(request)
        made = super().get_form(request, obj, change=change, **kwargs)
        return type(made.__name__, (made,), {"organization": vars(request)["organization"]})

    def chosen_organization(self, request: HttpRequest) -> Organization | None:
        """Where a new row goes: the only organization in which the person may add it, or the one that the address names."""
        candidates = list(organizations_with_role(request, PERMISSIONS[self.area].write))
        if len(candidates) == 1:
            return candidates[0]
        return next((row for row in candidates if str(row.pk) == request.GET.get("organization")), None)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """The add form; before it, who works in several organizations chooses one."""
        if self.has_add_permission(request) and self.chosen_organization(request) is None:
            return self.ask_for_organization(request)
        return super().add_view(request, form_url, extra_context)

    def ask_for_organization(self, request: HttpRequest) -> HttpResponse:
        """A select of the person's own organizations."""
        form = ChooseOrganizationForm(organizations_with_role(request, PERMISSIONS[self.area].write))
        kept = [(name, value) for name, value in request.GET.items() if name != "organization"]
        context = {"title": f"Add {self.opts.verbose_name}", "opts": self.opts, "form": form, "kept": kept}
        return TemplateResponse(
            request, "admin/choose_organization.html", {**self.admin_site.each_context(request), **context}
        )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """The groups of fields, with the hidden one that a watched form compares."""
        groups = super().get_fieldsets(request, obj)
        if obj is None or not issubclass(self.form, OptimisticLockForm) or not self.has_change_permission(request, obj):
            return groups
        (title, options), *others = groups
        return [(title, {**options, "fields": [*options["fields"], "version"]}), *others]

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """A choice among the organization's rows; an id of another one is no valid choice."""
        kwargs["queryset"] = self.related_choices(db_field, request)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """The same for several."""
        kwargs["queryset"] = self.related_choices(db_field, request)
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def related_choices(self, db_field: Any, request: HttpRequest) -> QuerySet[Any]:
        """The rows of the form's organization that the field can point at."""
        return self.visible_rows(request, db_field.remote_field.model).filter(
            organization=vars(request)["organization"]
        )

    def get_list_display(self, request: HttpRequest) -> Any:
        """The columns, with the organization's name for who works in several."""
        shown = list(super().get_list_display(request))
        return [*shown, "organization"] if has_several_organizations(request) else shown

    def get_list_filter(self, request: HttpRequest) -> Any:
        """The filters; every one by a related row offers own rows only."""
        named = [*super().get_list_filter(request), *(["organization"] if has_several_organizations(request) else [])]
        return [self.filter_by(name) if isinstance(name, str) else name for name in named]

    def filter_by(self, name: str) -> Any:
        """The filter that fits the field."""
        field = self.opts.get_field(name)
        if field.is_relation:
            return name, TenantRelatedFilter
        return name, ChoicesDropdownFilter if getattr(field, "choices", None) else BooleanRadioFilter


def has_several_organizations(request: HttpRequest) -> bool:
    """Whether rows of several organizations stand side by side for this person."""
    known = vars(request)
    if "works_in_several" not in known:
        known["works_in_several"] = organizations_with_role(request, ALL_ROLES).count() > 1
    several: bool = known["works_in_several"]
    return several
