"""Custom field values in the admin's forms and exports (docs/interface.md, L14).

`custom_values` is a JSON object of values by custom field id: a string, a number, a boolean, or a "YYYY-MM-DD" date.
"""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.http import HttpRequest
from django.utils.text import normalize_newlines
from unfold import widgets

from foundation.api.exceptions import Conflict
from foundation.api.fields import MAX_TEXT_LENGTH
from leads.custom_values import TOO_LONG, are_too_long, without_zero_fraction
from leads.models import CustomField
from staff.toolkit.export import Cell, Column, Export, yes_or_no
from staff.toolkit.fields import LongTextField, SelectField, TextField
from staff.toolkit.tenant import TenantForm
from staff.toolkit.times import DayField

JsonValue = str | float | bool | None
FIELD_NAME = re.compile("custom_[0-9a-f]{32}")  # with which the names of parameters begin


class AnyDayField(DayField):
    """A day of any year, as the API takes it: people were born before 1970."""

    default_validators = []

    def has_changed(self, initial: str | None, data: str | None) -> bool:
        return super().has_changed(initial and date.fromisoformat(initial), data)


class NumberField(forms.FloatField):
    def has_changed(self, initial: float | None, data: str | None) -> bool:
        # PostgreSQL returns 1e23 as an integer, which differs from the float.
        return super().has_changed(initial if initial is None else float(initial), data)


def build_form_field(field: CustomField, value: JsonValue) -> forms.Field:
    common: dict[str, Any] = {"label": field.label, "required": False, "initial": value}
    match field.type:
        case CustomField.Type.NUMBER:
            return NumberField(**common, widget=widgets.UnfoldAdminDecimalFieldWidget)
        case CustomField.Type.BOOLEAN:
            return forms.NullBooleanField(**common, widget=widgets.UnfoldAdminNullBooleanSelectWidget)
        case CustomField.Type.DATE:
            return AnyDayField(**common)
        case CustomField.Type.SELECT:
            # A stored value stays selectable after its option was removed; otherwise the form could not be saved.
            options = dict.fromkeys([*field.options, *([value] if isinstance(value, str) else [])])
            return SelectField(**common, choices=[("", "–"), *((option, option) for option in options)])
    if isinstance(value, str) and "\n" in normalize_newlines(value):
        return LongTextField(**common, rows=3)  # browsers remove line breaks from a field of one line
    return TextField(**common, max_length=MAX_TEXT_LENGTH)


def to_json(value: JsonValue | date) -> JsonValue:
    """Return the form's value as it is stored: a date as text, an integral number without a fraction."""
    if isinstance(value, date):
        return value.isoformat()
    return without_zero_fraction(value) if isinstance(value, float) else value


def form_field_name(field_id: UUID) -> str:
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
    """Return the value of the one of these fields that the row has. They can have several types."""
    field = next((field for field in fields if str(field.pk) in values), None)
    value = values[str(field.pk)] if field else None
    if isinstance(value, bool):
        return yes_or_no(value)
    if field and isinstance(value, str) and field.type == CustomField.Type.DATE:
        return date.fromisoformat(value)
    return value


class CustomValuesForm(TenantForm):
    """Base form for models with `custom_values`. `RecordAdmin.get_form` adds the form fields."""

    service_fields: ClassVar[Sequence[str]]  # the fields that the service takes as arguments
    custom_fields: ClassVar[list[CustomField]] = []

    def changed_values(self) -> dict[str, Any]:
        """Return the changed fields of `service_fields`, and `custom_values` if a custom field has changed.

        `custom_values` has all values to store: fields that this form doesn't show keep theirs, emptied ones go. Raises
        Conflict if they are too long together.
        """
        changed = {name: self.cleaned_data[name] for name in self.service_fields if name in self.changed_data}
        if any(name.startswith("custom_") for name in self.changed_data):
            values = dict(self.instance.custom_values)
            for field in self.custom_fields:
                if form_field_name(field.pk) in self.changed_data:
                    values[str(field.pk)] = to_json(self.cleaned_data[form_field_name(field.pk)])
            changed["custom_values"] = {id: value for id, value in values.items() if value not in (None, "")}
            if are_too_long(changed["custom_values"], self.instance.custom_values):
                raise Conflict(f"The custom fields {TOO_LONG}")
        return changed


class CustomFieldsExport(Export):
    def columns_for(self, page: Any, request: HttpRequest) -> list[Column]:
        fields = page.visible_rows(request, CustomField).filter(entity=page.entity).order_by("position", "key")
        columns = super().columns_for(page, request)
        return [*columns, *export_columns(list(fields), {column.header for column in columns})]
