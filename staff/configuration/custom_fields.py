"""Custom field values in the admin's forms (docs/interface.md, L14).

`custom_values` is a JSON object of values by custom field id: a string, a number, a boolean, or a "YYYY-MM-DD" date.
"""

from collections import Counter
from datetime import date
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.http import HttpRequest
from unfold import widgets

from leads.models import CustomField
from organizations.isolation.tenancy import TenantModel
from organizations.models import Organization
from staff.toolkit.base import Fieldsets
from staff.toolkit.export import Cell, Column, Export, yes_or_no
from staff.toolkit.record import RecordAdmin
from staff.toolkit.tenant import OptimisticLockForm

JsonValue = str | float | bool | None
FieldValue = JsonValue | date

MAX_EXACT_INTEGER = 2**53  # up to here a float represents every integer exactly


def build_form_field(field: CustomField, value: JsonValue) -> forms.Field:
    """Return the form field for a custom field whose stored value is `value`."""
    common: dict[str, Any] = {"label": field.label, "required": False}
    match field.type:
        case CustomField.Type.NUMBER:
            return forms.FloatField(**common, widget=widgets.UnfoldAdminDecimalFieldWidget)
        case CustomField.Type.BOOLEAN:
            return forms.NullBooleanField(**common, widget=widgets.UnfoldAdminNullBooleanSelectWidget)
        case CustomField.Type.DATE:
            return forms.DateField(**common, widget=widgets.UnfoldAdminSingleDateWidget)
        case CustomField.Type.SELECT:
            # A stored value stays selectable after its option was removed; otherwise the form could not be saved.
            options = dict.fromkeys([*field.options, *([value] if isinstance(value, str) else [])])
            return forms.ChoiceField(
                **common,
                choices=[("", "–"), *((option, option) for option in options)],
                widget=widgets.UnfoldAdminSelectWidget,
            )
    return forms.CharField(**common, max_length=10_000, widget=widgets.UnfoldAdminTextInputWidget)


def to_json(value: FieldValue) -> JsonValue:
    """Return the form's value as it is stored: a date as text, an integral number without a fraction."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_EXACT_INTEGER:
        return int(value)
    return value


def form_field_name(field_id: UUID) -> str:
    """Return the name that a custom field has in the form."""
    return f"custom_{field_id.hex}"


def export_columns(fields: list[CustomField], taken: set[str]) -> list[Column]:
    """Return the columns of an export: one for each label; a label that is taken is followed by the field's key.

    Fields of several organizations that have the same header share a column.
    """
    labels = Counter((field.organization_id, field.label) for field in fields)
    columns: dict[str, list[CustomField]] = {}
    for field in fields:
        is_unique = field.label not in taken and labels[field.organization_id, field.label] == 1
        columns.setdefault(field.label if is_unique else f"{field.label} ({field.key})", []).append(field)
    return [Column(header, "custom_values", partial(exported, members)) for header, members in columns.items()]


def exported(fields: list[CustomField], values: dict[str, JsonValue]) -> Cell:
    """Return the value that a row has of one of the fields."""
    value = next((values[str(field.pk)] for field in fields if str(field.pk) in values), None)
    if isinstance(value, bool):
        return yes_or_no(value)
    if isinstance(value, str) and fields[0].type == CustomField.Type.DATE:
        return date.fromisoformat(value)
    return value


class CustomValuesForm(OptimisticLockForm):
    """Base form for models with `custom_values`. `CustomFieldsAdmin.get_form` adds the form fields."""

    custom_fields: ClassVar[list[CustomField]] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.custom_fields:
            self.initial[form_field_name(field.pk)] = self.instance.custom_values.get(str(field.pk))

    def custom_values(self) -> dict[str, JsonValue]:
        """Return all values to store: the stored ones, changed by this form, without the emptied ones."""
        # Values of fields that this form does not show are kept.
        values = dict(self.instance.custom_values)
        for field in self.custom_fields:
            if form_field_name(field.pk) in self.cleaned_data:
                values[str(field.pk)] = to_json(self.cleaned_data[form_field_name(field.pk)])
        return {field_id: value for field_id, value in values.items() if value not in (None, "")}

    def has_changed_custom_values(self) -> bool:
        """Return whether the user changed a custom field."""
        return any(name.startswith("custom_") for name in self.changed_data)


class CustomFieldsExport(Export):
    """An export with a column for each custom field of the user's organizations."""

    def columns_for(self, page: Any, request: HttpRequest) -> list[Column]:
        fields = page.visible_rows(request, CustomField).filter(entity=page.entity).order_by("position", "key")
        columns = super().columns_for(page, request)
        return [*columns, *export_columns(list(fields), {column.header for column in columns})]


class CustomFieldsAdmin(RecordAdmin):
    """Base admin for models with `custom_values`. The custom fields form the last group of the page."""

    form = CustomValuesForm
    entity: ClassVar[CustomField.Entity]

    def custom_fields(self, request: HttpRequest, obj: TenantModel | None) -> list[CustomField]:
        """Return the organization's custom fields, or none for users who may only view the page."""
        organization: Organization | None = obj.organization if obj else self.chosen_organization(request)
        may_write = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        if organization is None or not may_write:
            return []
        return list(CustomField.objects.of(organization).filter(entity=self.entity).order_by("position", "key"))

    def get_fieldsets(self, request: HttpRequest, obj: TenantModel | None = None) -> Fieldsets:
        """Return the page's groups of fields, with the custom fields as the last one."""
        groups: Fieldsets = list(super().get_fieldsets(request, obj))
        names = [form_field_name(field.pk) for field in self.custom_fields(request, obj)]
        return [*groups, ("Custom fields", {"fields": names})] if names else groups

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """Return the form class, extended by one form field per custom field."""
        fields = self.custom_fields(request, obj)
        values = obj.custom_values if obj else {}
        form_fields = {
            form_field_name(field.pk): build_form_field(field, values.get(str(field.pk))) for field in fields
        }
        base = self.form if obj else self.add_form or self.form
        kwargs["form"] = type(base.__name__, (base,), {"custom_fields": fields, **form_fields})
        return super().get_form(request, obj, change=change, **kwargs)
