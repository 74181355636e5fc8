"""People: everybody has their own page; operators have all."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from unfold.widgets import UnfoldAdminSelectWidget

from organizations.admin.actions import object_action, secret_page
from organizations.admin.base import ServiceAdmin, ServiceForm, WebAddressField
from organizations.admin.members import LINK_EXPLANATION, password_link
from organizations.models import User
from organizations.permissions import current_user, is_operator
from organizations.services import save_user


class UserForm(ServiceForm):
    """What a person says of themselves, and what operators say."""

    time_zone = forms.ChoiceField(
        widget=UnfoldAdminSelectWidget, help_text="Times in mails and on these pages are shown in it."
    )
    profile_image_url = WebAddressField(label="Profile image URL")

    class Meta:
        model = User
        fields = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        zone: Any = self.fields["time_zone"]
        zone.choices = [
            (name, name.replace("_", " ")) for name in sorted(available_timezones() | {self.instance.time_zone})
        ]


def is_active(user: User) -> bool:
    """Whether a password would open anything."""
    return user.is_active


@admin.register(User)
class UserAdmin(ServiceAdmin):
    """People, whatever organizations they are in."""

    form = UserForm
    list_display = ("email", "first_name", "last_name", "is_staff", "is_superuser", "is_active", "last_login")
    list_filter = ("is_staff", "is_superuser", "is_active")
    search_fields = ("email", "first_name", "last_name", "=id")
    actions_detail = ("make_password_link",)
    own = ("About you", {"fields": ["email", ("first_name", "last_name"), "time_zone", "profile_image_url"]})
    access = ("Access", {"fields": [("is_active", "is_staff", "is_superuser"), ("id", "date_joined", "last_login")]})

    def get_queryset(self, request: HttpRequest) -> Any:
        """Operators see all, everybody else themselves."""
        rows = super().get_queryset(request)
        return rows if is_operator(request) else rows.filter(pk=current_user(request).pk)

    def has_view_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """One's own row, or an operator's."""
        return is_operator(request) or obj is None or obj == request.user

    has_change_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        """People are made by inviting members, operators by `createsuperuser`."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """What people did stays: they are made inactive instead."""
        return False

    def has_module_permission(self, request: HttpRequest) -> bool:
        """The list is for operators."""
        return is_operator(request)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """No searching by password hash."""
        return not lookup.startswith("password") and super().lookup_allowed(lookup, value, request)

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Access is for operators."""
        return [self.own, self.access] if is_operator(request) else [self.own]

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        """Nobody changes their own access, nor (but operators) a login."""
        facts = ("id", "date_joined", "last_login")
        access = ("is_active", "is_staff", "is_superuser") if obj == request.user else ()
        return (*facts, *access) if is_operator(request) else ("email",)

    def has_operator_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Operators only."""
        return is_operator(request)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Through the service."""
        save_user(user=obj, changed=form.changed_data)

    @object_action(
        "Make a password link",
        icon="key",
        question="Make a link by which this person can choose a new password?",
        when=is_active,
        permission="operator",
    )
    def make_password_link(self, request: HttpRequest, user: User, form: Any) -> HttpResponse:
        """For anybody, by operators."""
        return secret_page(
            self,
            request,
            user,
            title="A link to choose a password",
            explanation=LINK_EXPLANATION,
            secret=password_link(request, user),
        )
