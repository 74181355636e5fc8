"""Leads, their sources and custom fields in the admin."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import RangeDateFilter
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from leads.admin.custom_fields import CustomFieldsAdmin, CustomValuesForm
from leads.models import CustomField, Lead, LeadStatusChange, Source
from leads.phones import parse_phone
from leads.services import add_lead, delete_custom_field, edit_lead, save_custom_field
from organizations.actors import staff_actor
from organizations.admin.base import ReadOnlyInline
from organizations.admin.tenant import TenantAdmin, TenantForm
from organizations.permissions import Area, current_user
from statuses.admin import HistoryInline, status_label
from statuses.models import Board, BoardScope

LEAD_FIELDS = ["email", "first_name", "last_name", "setter", "status", "next_touch_point_at", "next_touch_point_type"]


class LeadForm(CustomValuesForm):
    """A lead by hand."""

    constraint_messages = {"one_lead_per_email": ("email", "This e-mail belongs to another lead.")}

    phone_e164 = forms.CharField(
        label="Phone",
        required=False,
        empty_value=None,
        max_length=40,
        widget=UnfoldAdminTextInputWidget,
        help_text="A number without + is read in the organization's country.",
    )

    class Meta:
        model = Lead
        fields = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "status" in self.fields:
            status: Any = self.fields["status"]
            status.queryset = status.queryset.filter(type__in=[Board.LEAD, BoardScope.BOTH])
            status.required = not self.instance._state.adding
            status.help_text = "" if status.required else "Empty: the default for new leads."

    def clean_email(self) -> str:
        """Without spaces around it."""
        return str(self.cleaned_data["email"]).strip()

    def clean_phone_e164(self) -> str | None:
        """As E.164, or an error."""
        text = self.cleaned_data["phone_e164"]
        phone = parse_phone(text, self.organization.default_country) if text else None
        if text and phone is None:
            raise forms.ValidationError("This is no phone number.")
        self.instance.phone_country = phone.country if phone else None
        return phone.e164 if phone else None

    def clean_next_touch_point_type(self) -> str | None:
        """Null when empty, as the interface shows it."""
        return self.cleaned_data["next_touch_point_type"] or None

    def facts(self) -> dict[str, Any]:
        """What was changed, as the services take it."""
        found = {name: self.cleaned_data[name] for name in LEAD_FIELDS if name in self.changed_data}
        if "phone_e164" in self.changed_data:
            found |= {"phone_e164": self.cleaned_data["phone_e164"], "phone_country": self.instance.phone_country}
        if self.has_new_values():
            found["custom_values"] = self.custom_values()
        return found


class StatusChangeInline(HistoryInline):
    """How the lead moved."""

    model = LeadStatusChange


@admin.register(Lead)
class LeadAdmin(CustomFieldsAdmin):
    """Leads."""

    area = Area.WORK
    entity = CustomField.Entity.LEAD
    form = LeadForm
    list_display = (
        "name",
        "email",
        "phone_e164",
        "status_label",
        "setter",
        "last_source",
        "next_touch_point_at",
        "created_at",
    )
    select_related = ("status", "setter__user", "last_source")
    list_filter = (
        "status",
        "setter",
        "first_source",
        "last_source",
        "next_touch_point_type",
        ("created_at", RangeDateFilter),
    )
    search_fields = ("email", "first_name", "last_name", "phone_e164")
    search_help_text = "Name, e-mail or phone"
    readonly_fields = ("first_source", "last_source", "created_at", "updated_at")
    inlines: tuple[type[ReadOnlyInline], ...] = (StatusChangeInline,)
    fieldsets = (
        (None, {"fields": [("email", "phone_e164"), ("first_name", "last_name")]}),
        ("Pipeline", {"fields": [("status", "setter"), ("next_touch_point_type", "next_touch_point_at")]}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: Lead | None = None) -> Any:
        """A stored lead has an origin."""
        groups = super().get_fieldsets(request, obj)
        return (
            [*groups, ("Origin", {"fields": [("first_source", "last_source"), ("created_at", "updated_at")]})]
            if obj
            else groups
        )

    @staticmethod
    def choice_label(lead: Lead) -> str:
        """In autocompletion, two leads of one name differ by e-mail."""
        return f"{lead} ({lead.email})" if str(lead) != lead.email else lead.email

    @admin.display(description="Lead", ordering="first_name")
    def name(self, lead: Lead) -> str:
        """The name, or the e-mail."""
        return str(lead)

    @admin.display(description="Status", ordering="status__name")
    def status_label(self, lead: Lead) -> SafeString | str:
        """In the status's colors."""
        return status_label(lead.status)

    def get_inlines(self, request: HttpRequest, obj: Lead | None) -> Any:
        """A new lead has no history."""
        return self.inlines if obj else ()

    def save_model(self, request: HttpRequest, obj: Lead, form: Any, change: bool) -> None:
        """Through the services, with history and events."""
        actor = staff_actor(current_user(request))
        facts = {name: value for name, value in form.facts().items() if change or value is not None}
        if change and facts:
            edit_lead(organization=obj.organization, actor=actor, lead=obj, **facts)
        if change:
            return
        obj.pk = add_lead(organization=form.organization, actor=actor, **facts).pk


@admin.register(Source)
class SourceAdmin(TenantAdmin):
    """Where leads come from: made on first use, and only shown."""

    area = Area.RECORDS
    can_add = can_change = False
    list_display = ("name", "created_at")
    search_fields = ("name",)
    fields = ("name", "created_at")


class CustomFieldForm(TenantForm):
    """A custom field; what is stored under it can't change its kind."""

    constraint_messages = {"one_custom_field_per_key": ("key", "Another custom field has this key.")}

    options = forms.CharField(
        required=False, widget=UnfoldAdminTextareaWidget, help_text="For a choice: one option a line."
    )

    class Meta:
        model = CustomField
        fields = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["options"] = "\n".join(self.instance.options)

    def clean_options(self) -> list[str]:
        """The lines, each once."""
        lines = [line.strip() for line in self.cleaned_data["options"].splitlines()]
        if any(len(line) > 255 for line in lines):
            raise forms.ValidationError("An option can have at most 255 characters.")
        return list(dict.fromkeys(filter(None, lines)))

    def clean(self) -> dict[str, Any]:
        """A choice has options, anything else has none."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        is_choice = cleaned.get("type", self.instance.type) == CustomField.Type.SELECT
        if is_choice and not cleaned.get("options") and "options" not in self.errors:
            self.add_error("options", "A choice needs options.")
        if not is_choice and cleaned.get("options"):
            self.add_error("options", "Only a choice has options.")
        return cleaned


@admin.register(CustomField)
class CustomFieldAdmin(TenantAdmin):
    """Columns that the organization adds."""

    area = Area.SETUP
    can_delete = True
    form = CustomFieldForm
    list_display = ("label", "key", "entity", "type", "position")
    list_filter = ("entity", "type")
    search_fields = ("label", "key")
    fields = (("entity", "type"), "label", "key", "options", "position")

    def get_readonly_fields(self, request: HttpRequest, obj: CustomField | None = None) -> Any:
        """What integrations and stored values rely on stays."""
        return ("entity", "type", "key") if obj else ()

    def save_model(self, request: HttpRequest, obj: CustomField, form: Any, change: bool) -> None:
        """Through the service."""
        save_custom_field(organization=form.organization, field=obj)

    def delete_model(self, request: HttpRequest, obj: CustomField) -> None:
        """Through the service."""
        delete_custom_field(organization=obj.organization, field=obj)
