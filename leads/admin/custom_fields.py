"""Custom field values as form fields: text, number, yes or no, date, choice (decision 27).

They are kept in `custom_values`, by the custom field's id: a JSON string, number, boolean, or "YYYY-MM-DD".
"""

from datetime import date
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.http import HttpRequest
from unfold import widgets

from leads.models import CustomField
from organizations.admin.tenant import OptimisticLockForm, TenantAdmin
from organizations.models import Organization

MAX_EXACT_INTEGER = 2**53


def build_form_field(custom: CustomField, value: Any) -> forms.Field:
    """The form's field for a custom one; a choice keeps a value that is no option any more."""
    common: dict[str, Any] = {"label": custom.label, "required": False}
    match custom.type:
        case CustomField.Type.NUMBER:
            return forms.FloatField(**common, widget=widgets.UnfoldAdminDecimalFieldWidget)
        case CustomField.Type.BOOLEAN:
            return forms.NullBooleanField(**common, widget=widgets.UnfoldAdminNullBooleanSelectWidget)
        case CustomField.Type.DATE:
            return forms.DateField(**common, widget=widgets.UnfoldAdminSingleDateWidget)
        case CustomField.Type.SELECT:
            options = dict.fromkeys([*custom.options, *([value] if isinstance(value, str) else [])])
            return forms.ChoiceField(
                **common,
                choices=[("", "–"), *((option, option) for option in options)],
                widget=widgets.UnfoldAdminSelectWidget,
            )
    return forms.CharField(**common, max_length=10_000, widget=widgets.UnfoldAdminTextInputWidget)


def to_json(value: Any) -> Any:
    """What is stored: whole numbers without a fraction, dates as text."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_EXACT_INTEGER:
        return int(value)
    return value


def form_field_name(pk: UUID) -> str:
    """The form field's name."""
    return f"custom_{pk.hex}"


class CustomValuesForm(OptimisticLockForm):
    """Base of the forms of what has custom fields."""

    custom_fields: ClassVar[list[CustomField]] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for custom in self.custom_fields:
            self.initial[form_field_name(custom.pk)] = self.instance.custom_values.get(str(custom.pk))

    def custom_values(self) -> dict[str, Any]:
        """All values, with those of this form; an emptied one is gone."""
        values = dict(self.instance.custom_values)
        for custom in self.custom_fields:
            if form_field_name(custom.pk) in self.cleaned_data:
                values[str(custom.pk)] = to_json(self.cleaned_data[form_field_name(custom.pk)])
        return {pk: value for pk, value in values.items() if value not in (None, "")}

    def has_new_values(self) -> bool:
        """Whether any was changed."""
        return any(name.startswith("custom_") for name in self.changed_data)


class CustomFieldsAdmin(TenantAdmin):
    """Base of the pages of what has custom fields: they stand in a group of their own."""

    form = CustomValuesForm
    entity: ClassVar[CustomField.Entity]

    def custom_fields(self, request: HttpRequest, obj: Any) -> list[CustomField]:
        """The organization's custom fields, for who may write."""
        organization: Organization | None = obj.organization if obj else self.chosen_organization(request)
        may_write = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        if organization is None or not may_write:
            return []
        known = vars(request).setdefault("custom_fields", {})
        if organization.pk not in known:
            known[organization.pk] = list(
                CustomField.objects.of(organization).filter(entity=self.entity).order_by("position", "key")
            )
        found: list[CustomField] = known[organization.pk]
        return found

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """The groups of fields, and that of the custom ones last."""
        groups = list(super().get_fieldsets(request, obj))
        names = [form_field_name(custom.pk) for custom in self.custom_fields(request, obj)]
        return [*groups, ("Custom fields", {"fields": names})] if names else groups

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        """The form's class with the custom fields in it."""
        customs = self.custom_fields(request, obj)
        values = obj.custom_values if obj else {}
        declared = {
            form_field_name(custom.pk): build_form_field(custom, values.get(str(custom.pk))) for custom in customs
        }
        base = self.form_class(obj)
        kwargs["form"] = type(base.__name__, (base,), {"custom_fields": customs, **declared})
        return super().get_form(request, obj, change=change, **kwargs)

    def form_class(self, obj: Any) -> Any:
        """The form that the custom fields are added to."""
        return self.form
