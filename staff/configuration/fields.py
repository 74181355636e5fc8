"""The page of custom fields of leads and appointments."""

from collections.abc import Iterable
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from leads.imports.values import shorten
from leads.models import CustomField
from leads.services import delete_custom_field, save_custom_field
from organizations.permissions import Area
from staff.toolkit.custom_fields import form_field_name
from staff.toolkit.fields import LongTextField
from staff.toolkit.filters import MAX_VALUES
from staff.toolkit.saved_views import VIEW_VAR
from staff.toolkit.tenant import TenantAdmin, TenantForm
from staff.toolkit.views import ALL


class CustomFieldForm(TenantForm):
    constraint_messages = {"one_custom_field_per_key": ("key", "Another custom field has this key.")}

    options = LongTextField(max_length=None, required=False, help_text="Only for the type Choice: one option per line.")

    class Meta:
        help_texts = {"key": "The name that integrations use.", "label": "The name that people see."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["options"] = "\n".join(self.instance.options)

    def clean_options(self) -> list[str]:
        options = [line.strip() for line in self.cleaned_data["options"].splitlines()]
        if any(len(option) > 255 for option in options):
            raise forms.ValidationError("An option can have at most 255 characters.")
        return list(dict.fromkeys(filter(None, options)))

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or self.cleaned_data
        is_choice = cleaned.get("type", self.instance.type) == CustomField.Type.SELECT
        if is_choice and not cleaned.get("options") and "options" not in self.errors:
            self.add_error("options", "Enter at least one option.")
        if not is_choice and cleaned.get("options"):
            self.add_error("options", "Only a choice field can have options.")
        return cleaned


@admin.register(CustomField)
class CustomFieldAdmin(TenantAdmin):
    empty_text = "Add the questions that only your team asks, such as the size of a company."
    area = Area.SETUP
    can_delete = True
    save_service = staticmethod(save_custom_field)
    delete_service = staticmethod(delete_custom_field)
    service_argument = "field"
    form = CustomFieldForm
    list_display = ("label", "key", "entity", "type", "position")
    list_filter = ("entity", "type")
    search_fields = ("label", "key")
    fields = (("entity", "type"), "label", "key", "options", "position")
    readonly_fields = ("entity", "type", "key")  # stored values and integrations depend on them

    def save_model(self, request: HttpRequest, obj: CustomField, form: CustomFieldForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        removed = [text for text in form.initial["options"].splitlines() if text not in obj.options]
        if removed:
            rows = "leads_lead" if obj.entity == CustomField.Entity.LEAD else "appointments_appointment"
            values = [(form_field_name(obj.pk), f"={text}") for text in removed[:MAX_VALUES]]
            url = f"{reverse(f'admin:{rows}_changelist')}?{urlencode([(VIEW_VAR, ALL.name), *values])}"
            text = "{} that have a removed option keep it, but filters no longer offer it: {}. {}"
            link = format_html('<a class="underline" href="{}">Show them</a>', url)
            messages.warning(request, format_html(text, obj.get_entity_display(), shorten(", ".join(removed)), link))

    def get_deleted_objects(
        self, objs: QuerySet | list[Model], request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """Return each field with what is lost besides it. Values aren't counted: that would read all rows."""
        names, counts, lacking, protected = super().get_deleted_objects(objs, request)
        lost = "Its values in all {}. Another field with the same key doesn't bring them back."
        texts: list[Any] = []
        for name, field in zip(names, cast("Iterable[CustomField]", objs), strict=True):
            texts += [name, [lost.format(field.get_entity_display().lower())]]
        return texts, counts, lacking, protected
