"""Admin pages of leads, sources and custom fields. All writes go through `leads.services`."""

from contextlib import suppress
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from foundation.api.fields import parse_uuid
from leads.imports.models import ImportKind
from leads.models import CustomField, Lead, Source, TouchPointType
from leads.phones import parse_phone
from leads.services import add_lead, change_status, delete_custom_field, edit_lead, save_custom_field
from organizations.actors import staff_actor
from organizations.permissions import PERMISSIONS, Area, current_user, has_role
from staff.boards.leads import LeadBoard
from staff.configuration.custom_fields import CustomFieldsExport, CustomValuesForm
from staff.configuration.statuses import status_column
from staff.imports import ImportButton
from staff.leads.columns import contact, next_step
from staff.leads.duplicates import duplicates_card, lead_urls
from staff.leads.record import LeadRecordAdmin
from staff.leads.search import find_by_lead
from staff.selections import LEAD_VIEWS, LeadWorkFilter, LeftStatusFilter, MyLeadsFilter
from staff.toolkit.actions import row_url
from staff.toolkit.bulk import members, set_for_selected
from staff.toolkit.columns import when
from staff.toolkit.export import Column, labels, member_columns
from staff.toolkit.filters import DayRangeFilter
from staff.toolkit.forms import accepted_email
from staff.toolkit.tenant import TenantAdmin, TenantForm
from staff.toolkit.views import TABLE
from statuses.models import Board, Status

LEAD_FIELDS = ["email", "first_name", "last_name", "setter", "status", "next_touch_point_at", "next_touch_point_type"]


class LeadForm(CustomValuesForm):
    """The form for adding and changing a lead."""

    constraint_messages = {"one_lead_per_email": ("email", "This e-mail belongs to another lead.")}

    phone_e164 = forms.CharField(
        label="Phone",
        required=False,
        empty_value=None,
        max_length=40,
        widget=UnfoldAdminTextInputWidget,
        help_text="Without a country code (+), the number is read as one of the organization's country.",
    )

    class Meta:
        model = Lead
        fields = ()
        help_texts = {"next_touch_point_at": "Once it has passed, the next upcoming appointment replaces it."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "status" in self.fields:
            status: Any = self.fields["status"]
            status.queryset = status.queryset.choices(Board.LEAD, current=self.instance.status_id)
            status.required = not self.instance._state.adding
            status.help_text = "" if status.required else "If empty, the default status for new leads is used."

    def clean_email(self) -> str:
        """Return the address as the API accepts it."""
        return accepted_email(self, "email")

    def clean_phone_e164(self) -> str | None:
        """Return the number as E.164, and set the country on the instance."""
        text = self.cleaned_data["phone_e164"]
        # A number that version 0.2 has stored and would be refused today must not prevent other changes.
        if "phone_e164" not in self.changed_data:
            return self.instance.phone_e164
        phone = parse_phone(text, self.organization.default_country) if text else None
        if text and phone is None:
            raise forms.ValidationError("Enter a valid phone number.")
        self.instance.phone_country = phone.country if phone else None
        return phone.e164 if phone else None

    def clean_next_touch_point_type(self) -> str | None:
        """Return None instead of an empty string, because the API shows null."""
        return self.cleaned_data["next_touch_point_type"] or None

    def changed_values(self) -> dict[str, Any]:
        """Return the changed fields as keyword arguments for the services."""
        values = {name: self.cleaned_data[name] for name in LEAD_FIELDS if name in self.changed_data}
        if "phone_e164" in self.changed_data:
            values |= {"phone_e164": self.cleaned_data["phone_e164"], "phone_country": self.instance.phone_country}
        if self.has_changed_custom_values():
            values["custom_values"] = self.custom_values()
        return values


@admin.register(Lead)
class LeadAdmin(LeadRecordAdmin):
    """Leads. The apps that come later register what they know about them."""

    empty_text = "Add one, or let your forms and schedulers send them: create an API key under API keys."
    area = Area.WORK
    entity = CustomField.Entity.LEAD
    form = LeadForm
    list_display = (
        "lead_contact",
        status_column("status", "Status"),
        "setter",
        next_step,
        "changed",
        "last_source",
    )
    select_related = ("status", "setter__user", "last_source")
    views = LEAD_VIEWS
    layouts = (TABLE, LeadBoard())
    list_filter = (
        LeadWorkFilter,
        MyLeadsFilter,
        LeftStatusFilter,
        "status",
        "setter",
        "first_source",
        "last_source",
        "next_touch_point_type",
        ("created_at", DayRangeFilter),
    )
    ordering = ("-updated_at", "-id")
    find_rows = staticmethod(find_by_lead)
    search_fields = ("email", "first_name", "last_name", "phone_e164")
    search_help_text = "Search by name, e-mail or phone"
    actions = ("set_status_selected", "set_setter_selected")
    buttons = (
        ImportButton(ImportKind.LEADS),
        CustomFieldsExport(
            Column("E-mail", "email"),
            Column("First name", "first_name"),
            Column("Last name", "last_name"),
            Column("Phone", "phone_e164"),
            Column("Status", "status__name"),
            *member_columns("setter", "Setter"),
            Column("First source", "first_source__name"),
            Column("Last source", "last_source__name"),
            Column("Next touch point type", "next_touch_point_type", labels(TouchPointType.choices)),
            Column("Next touch point at", "next_touch_point_at", is_time=True),
            Column("Created", "created_at", is_time=True),
            Column("Updated", "updated_at", is_time=True),
            Column("ID", "id"),
        ),
    )
    readonly_fields = ("first_source", "last_source", "created_at", "updated_at")
    add_fieldsets = (
        (None, {"fields": [("email", "phone_e164"), ("first_name", "last_name")]}),
        ("Pipeline", {"fields": [("status", "setter"), ("next_touch_point_type", "next_touch_point_at")]}),
    )
    fieldsets = (
        *add_fieldsets,
        ("Origin", {"fields": [("first_source", "last_source"), ("created_at", "updated_at")]}),
    )

    def has_full_export_permission(self, request: HttpRequest, obj: Lead) -> bool:
        """Return whether the user may have everything that is stored about the lead."""
        return has_role(request, PERMISSIONS[Area.PRIVACY].view, obj.organization_id)

    def has_erase_permission(self, request: HttpRequest, obj: Lead) -> bool:
        """Return whether the user may erase the lead."""
        return has_role(request, PERMISSIONS[Area.PRIVACY].write, obj.organization_id)

    @staticmethod
    def choice_label(lead: Lead) -> str:
        """Return the label in autocompletion, with the e-mail to tell leads of the same name apart."""
        return f"{lead} ({lead.email})" if str(lead) != lead.email else lead.email

    def get_urls(self) -> list[URLPattern]:
        """Return the page's addresses, with those for merging."""
        return [*lead_urls(self), *super().get_urls()]

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        """Lead from the page of a merged lead to that of the kept one."""
        kept = self.redirect_to_kept(request, object_id)
        response: HttpResponse = kept or super()._get_obj_does_not_exist_redirect(request, opts, object_id)
        return response

    def redirect_to_kept(self, request: HttpRequest, object_id: str) -> HttpResponse | None:
        """Lead to the page of the lead into which the one with this id was merged, or return None."""
        with suppress(ValueError):
            merged_id = parse_uuid(unquote(object_id))
            if lead := self.get_queryset(request).filter(merges__previous_id=merged_id).first():
                nothing = " Nothing was saved." if request.method == "POST" else ""
                messages.warning(request, f"The lead that you wanted was merged into this one.{nothing}")
                return redirect(row_url(lead))
        return None

    @admin.display(description="Lead", ordering="first_name")
    def lead_contact(self, lead: Lead) -> str:
        """Return the lead's name, e-mail and phone."""
        return contact(lead)

    @admin.action(description="Set the status of the selected leads", permissions=["change"])
    def set_status_selected(self, request: HttpRequest, rows: QuerySet[Lead]) -> HttpResponse | None:
        """Set the status of the selected leads, after a page that asks for it."""
        actor = staff_actor(current_user(request))
        return set_for_selected(
            self,
            request,
            rows,
            lambda lead, status: change_status(
                organization=lead.organization, actor=actor, lead_id=lead.pk, status_id=status.pk
            ),
            action="set_status_selected",
            label="Status",
            choices=lambda organization: Status.objects.of(organization).choices(Board.LEAD, current=None),
            question="Which status do these leads have from now on? Webhooks are sent, but no e-mails.",
        )

    @admin.action(description="Set the setter of the selected leads", permissions=["change"])
    def set_setter_selected(self, request: HttpRequest, rows: QuerySet[Lead]) -> HttpResponse | None:
        """Set the setter of the selected leads, after a page that asks for them."""
        actor = staff_actor(current_user(request))
        return set_for_selected(
            self,
            request,
            rows,
            lambda lead, member: edit_lead(organization=lead.organization, actor=actor, lead=lead, setter=member),
            action="set_setter_selected",
            label="Setter",
            choices=members,
            question="Who is the setter of these leads from now on? Webhooks are sent, but no e-mails.",
        )

    @admin.display(description="Last change", ordering="updated_at")
    def changed(self, lead: Lead) -> str:
        """Return when a value of the lead has changed."""
        return when(lead.updated_at)

    def save_model(self, request: HttpRequest, obj: Lead, form: LeadForm, change: bool) -> None:
        """Add or edit the lead with the service."""
        actor = staff_actor(current_user(request))
        if not change:
            values = {name: value for name, value in form.changed_values().items() if value is not None}
            add_lead(organization=form.organization, actor=actor, id=obj.pk, **values)
            return
        edit_lead(organization=obj.organization, actor=actor, lead=obj, **form.changed_values())


LeadAdmin.register_card(duplicates_card)


@admin.register(Source)
class SourceAdmin(TenantAdmin):
    """Sources, read-only: they are created on first use."""

    empty_text = "They appear when leads come in: from opt-ins with a UTM source, and from bookings."
    area = Area.RECORDS
    can_add = can_change = False
    list_display = ("name", "created_at")
    search_fields = ("name",)
    fields = ("name", "created_at")


class CustomFieldForm(TenantForm):
    """The form for adding and changing a custom field."""

    constraint_messages = {"one_custom_field_per_key": ("key", "Another custom field has this key.")}

    options = forms.CharField(
        required=False, widget=UnfoldAdminTextareaWidget, help_text="Only for the type Choice: one option per line."
    )

    class Meta:
        model = CustomField
        fields = ()
        help_texts = {"key": "The name that integrations use.", "label": "The name that people see."}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["options"] = "\n".join(self.instance.options)

    def clean_options(self) -> list[str]:
        """Return the lines without duplicates, in their order."""
        options = [line.strip() for line in self.cleaned_data["options"].splitlines()]
        if any(len(option) > 255 for option in options):
            raise forms.ValidationError("An option can have at most 255 characters.")
        return list(dict.fromkeys(filter(None, options)))

    def clean(self) -> dict[str, object]:
        """Require options for a choice field, and refuse them for the other types."""
        cleaned = super().clean() or self.cleaned_data
        is_choice = cleaned.get("type", self.instance.type) == CustomField.Type.SELECT
        if is_choice and not cleaned.get("options") and "options" not in self.errors:
            self.add_error("options", "Enter at least one option.")
        if not is_choice and cleaned.get("options"):
            self.add_error("options", "Only a choice field can have options.")
        return cleaned


@admin.register(CustomField)
class CustomFieldAdmin(TenantAdmin):
    """Custom fields of leads and appointments."""

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
