"""Organizations in the admin: here, because opening one composes apps."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth import admin as auth_admin
from django.http import HttpRequest, HttpResponse
from unfold.widgets import UnfoldAdminEmailInputWidget

from leads.phones import is_country_code
from organizations.admin.actions import ConfirmationForm, object_action, secret_page
from organizations.admin.base import ServiceAdmin, ServiceForm, WebAddressField
from organizations.admin.members import LINK_EXPLANATION, password_link
from organizations.models import Organization
from organizations.permissions import PERMISSIONS, Area, has_role, is_operator, organizations_with_role
from organizations.services import change_organization
from pipeline_backend.egress.ssrf import BlockedAddress, validate_url
from pipeline_backend.onboarding import create_organization

# Roles say who may do what; Django's groups would say it a second time. (Importing its admin has registered them.)
admin.site.unregister(auth_admin.Group)  # type: ignore[attr-defined]


class OrganizationForm(ServiceForm):
    """An organization."""

    class Meta:
        model = Organization
        fields = ()

    def clean_default_country(self) -> str:
        """A country that has phone numbers."""
        country = str(self.cleaned_data["default_country"]).upper()
        if not is_country_code(country):
            raise forms.ValidationError("This is no ISO country code, such as US.")
        return country


class OpeningForm(ServiceForm):
    """A new organization and its owner."""

    owner_email = forms.EmailField(widget=UnfoldAdminEmailInputWidget, help_text="Who has an account already keeps it.")

    class Meta:
        model = Organization
        fields = ()


class SlackForm(ConfirmationForm):
    """An incoming webhook of Slack; it is a secret, and never shown again."""

    url = WebAddressField(label="Incoming webhook's URL", help_text="Empty: calls are not told to Slack.")

    def clean_url(self) -> str:
        """An address that may be reached from here."""
        url = self.cleaned_data["url"] or ""
        try:
            if url:
                validate_url(url)
        except BlockedAddress:
            raise forms.ValidationError("This must be a public https address.") from None
        return url


@admin.register(Organization)
class OrganizationAdmin(ServiceAdmin):
    """Tenants: opened by operators, looked after by their owners."""

    form = OrganizationForm
    list_display = ("name", "is_active", "default_country", "rate_limit_per_minute", "created_at")
    search_fields = ("name", "=id")
    actions_detail = ("connect_slack",)
    facts = ("has_slack", "id", "created_at")
    fields = ("name", "default_country", "is_active", "rate_limit_per_minute", "has_slack", "id", "created_at")

    def get_queryset(self, request: HttpRequest) -> Any:
        """The person's own."""
        return organizations_with_role(request, PERMISSIONS[Area.ORGANIZATION].view)

    def has_view_permission(self, request: HttpRequest, obj: Organization | None = None) -> bool:
        """By role."""
        return has_role(request, PERMISSIONS[Area.ORGANIZATION].view, obj.pk if obj else None)

    def has_change_permission(self, request: HttpRequest, obj: Organization | None = None) -> bool:
        """By role."""
        return has_role(request, PERMISSIONS[Area.ORGANIZATION].write, obj.pk if obj else None)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Operators open organizations."""
        return is_operator(request)

    def has_delete_permission(self, request: HttpRequest, obj: Organization | None = None) -> bool:
        """An organization is made inactive instead."""
        return False

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether the menu has it."""
        return self.has_view_permission(request)

    def get_form(
        self, request: HttpRequest, obj: Organization | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """Opening one has its own form."""
        return super().get_form(request, obj, change=change, **({} if obj else {"form": OpeningForm}), **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Organization | None = None) -> Any:
        """Opening asks for two things."""
        return [(None, {"fields": self.fields if obj else ("name", "owner_email")})]

    def get_readonly_fields(self, request: HttpRequest, obj: Organization | None = None) -> Any:
        """Limits and access are the operators'."""
        return self.facts if is_operator(request) else (*self.facts, "is_active", "rate_limit_per_minute")

    def save_model(self, request: HttpRequest, obj: Organization, form: Any, change: bool) -> None:
        """Through the services; whether the owner needs a password is kept for the answer."""
        if change:
            change_organization(organization=obj, **{name: form.cleaned_data[name] for name in form.changed_data})
            return
        opened = create_organization(name=form.cleaned_data["name"], owner_email=form.cleaned_data["owner_email"])
        obj.pk, vars(request)["opened"] = opened.organization.pk, opened

    def response_add(self, request: HttpRequest, obj: Organization, post_url_continue: Any = None) -> HttpResponse:
        """A new owner's link to choose a password, once."""
        opened = vars(request)["opened"]
        if not opened.is_new_user:
            return super().response_add(request, obj, post_url_continue)
        return secret_page(
            self,
            request,
            obj,
            title=f"A link for {opened.owner}",
            explanation=LINK_EXPLANATION,
            secret=password_link(request, opened.owner.user),
        )

    @admin.display(description="Calls are told to Slack", boolean=True)
    def has_slack(self, organization: Organization) -> bool:
        """Whether there is a webhook; its address is a secret."""
        return bool(organization.slack_url)

    @object_action(
        "Connect Slack", icon="forum", question="Calls are told to this incoming webhook, too.", form=SlackForm
    )
    def connect_slack(self, request: HttpRequest, organization: Organization, form: Any) -> None:
        """Or, without an address, no more."""
        change_organization(organization=organization, slack_url=form.cleaned_data["url"])
