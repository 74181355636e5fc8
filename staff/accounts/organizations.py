"""The admin page of organizations: operators create them, owners manage them. They are deactivated, never deleted."""

from collections.abc import Sequence

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import admin as auth_admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from accounts.onboarding import create_organization_for
from foundation.db.timestamps import zone_names
from foundation.egress import BlockedAddress, validate_url
from leads.phones import read_country_code
from organizations.models import Organization
from organizations.permissions import PERMISSIONS, Area, has_role, is_operator, organizations_with_role
from organizations.services import change_organization
from staff.accounts.retention import describe_retention, retention_action
from staff.toolkit.actions import ConfirmationForm, object_action
from staff.toolkit.base import ServiceAdmin
from staff.toolkit.fields import EmailField
from staff.toolkit.forms import ServiceForm, WebAddressField, accepted_email
from staff.toolkit.lists import column

# Roles decide what a user may do, so Django's groups are not offered. Importing `auth_admin` has registered them.
admin.site.unregister(auth_admin.Group)  # type: ignore[attr-defined]

SLACK_SALT = "staff.accounts.slack"


class OrganizationForm(ServiceForm):
    def clean_default_country(self) -> str:
        country = read_country_code(self.cleaned_data["default_country"])
        if country is None:
            raise forms.ValidationError("Enter a two-letter ISO country code, such as US.")
        return country

    def clean_time_zone(self) -> str:
        name: str = self.cleaned_data["time_zone"]
        if name not in zone_names():
            raise forms.ValidationError("Enter the name of a time zone, such as Europe/Berlin.")
        return name


class NewOrganizationForm(ServiceForm):
    owner_email = EmailField(help_text="This address gets an invitation.")

    def clean_owner_email(self) -> str:
        return accepted_email(self, "owner_email")


class SlackForm(ConfirmationForm):
    # Shown empty, also when a webhook is connected: its URL is a secret that allows posting.
    url = WebAddressField(label="Incoming webhook URL", help_text="Leave empty to stop posting to Slack.")

    def clean_url(self) -> str:
        url = self.cleaned_data["url"] or ""
        try:
            if url:
                validate_url(url)
        except BlockedAddress:
            raise forms.ValidationError("Enter a public https URL.") from None
        return url


@admin.register(Organization)
class OrganizationAdmin(ServiceAdmin):
    form = OrganizationForm
    add_form = NewOrganizationForm
    list_display = ("name", "is_active", "default_country", "rate_limit_per_minute", "created_at")
    has_slack = column("Slack notifications", lambda organization: bool(organization.slack_url), boolean=True)
    old_leads = column("Leads without activity", describe_retention)
    search_fields = ("name", "=id")
    actions_detail = ("connect_slack", "retention")
    readonly_fields = ("old_leads", "has_slack", "is_test", "id", "created_at")
    add_fieldsets = ((None, {"fields": ("name", "owner_email")}),)
    fields = (
        "name",
        "default_country",
        "time_zone",
        "requires_two_factor",
        "is_active",
        "rate_limit_per_minute",
        "old_leads",
        "has_slack",
        "is_test",
        "id",
        "created_at",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Organization]:
        return organizations_with_role(request, PERMISSIONS[Area.ORGANIZATION].view)

    def has_view_permission(self, request: HttpRequest, obj: Organization | None = None) -> bool:
        return has_role(request, PERMISSIONS[Area.ORGANIZATION].view, obj.pk if obj else None)

    def has_write_permission(self, request: HttpRequest, obj: Organization | None = None) -> bool:
        return has_role(request, PERMISSIONS[Area.ORGANIZATION].write, obj.pk if obj else None)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_operator(request)

    def get_readonly_fields(self, request: HttpRequest, obj: Organization | None = None) -> Sequence[str]:
        fields = super().get_readonly_fields(request, obj)
        if obj and obj.move:
            fields = (*fields, "is_active")  # the command that moves it decides
        return fields if is_operator(request) else (*fields, "is_active", "rate_limit_per_minute")

    def save_model(self, request: HttpRequest, obj: Organization, form: ServiceForm, change: bool) -> None:
        if change:
            change_organization(organization=obj, **{name: form.cleaned_data[name] for name in form.changed_data})
            return
        data = form.cleaned_data
        invitation = create_organization_for(id=obj.pk, name=data["name"], owner_email=data["owner_email"])
        messages.success(
            request, f"{invitation.email} gets an invitation by e-mail, and becomes the owner by accepting."
        )

    retention = retention_action

    @object_action(
        "Connect Slack",
        icon="forum",
        question="Appointments are also posted to this Slack webhook.",
        form=SlackForm,
        # The page must not show the URL, which allows posting.
        state=lambda organization: salted_hmac(SLACK_SALT, organization.slack_url or "").hexdigest(),
        is_done=lambda organization, form: (
            form.is_valid() and form.cleaned_data["url"] == (organization.slack_url or "")
        ),
    )
    def connect_slack(self, request: HttpRequest, organization: Organization, form: SlackForm) -> None:
        change_organization(organization=organization, slack_url=form.cleaned_data["url"])
