"""The admin page of users: everyone has their own, operators see all."""

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.widgets import UnfoldAdminSelectWidget

from organizations.admin.actions import ConfirmationForm, object_action, secret_page
from organizations.admin.base import Fieldsets, ServiceAdmin, ServiceForm, WebAddressField
from organizations.admin.members import LINK_EXPLANATION, password_link
from organizations.models import User
from organizations.permissions import current_user, is_operator
from organizations.services import save_user


class UserForm(ServiceForm):
    """The form for a user's profile, and for operators also their access."""

    time_zone = forms.ChoiceField(
        widget=UnfoldAdminSelectWidget, help_text="Times in e-mails and on these pages are shown in this time zone."
    )
    profile_image_url = WebAddressField(label="Profile image URL")

    class Meta:
        model = User
        fields = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        time_zone: Any = self.fields["time_zone"]
        # With the user's own: the server's time zone database may lack it.
        names = sorted(available_timezones() | {self.instance.time_zone})
        time_zone.choices = [(name, name.replace("_", " ")) for name in names]


def is_active(user: User) -> bool:
    """Return whether the user may sign in, so that a password is of use."""
    return user.is_active


@admin.register(User)
class UserAdmin(ServiceAdmin):
    """Users, whatever organizations they are in."""

    form = UserForm
    list_display = ("email", "first_name", "last_name", "is_staff", "is_superuser", "is_active", "last_login")
    list_filter = ("is_staff", "is_superuser", "is_active")
    search_fields = ("email", "first_name", "last_name", "=id")
    actions_detail = ("make_password_link",)
    profile = ("Profile", {"fields": ["email", ("first_name", "last_name"), "time_zone", "profile_image_url"]})
    access = ("Access", {"fields": [("is_active", "is_staff", "is_superuser"), ("id", "date_joined", "last_login")]})

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """Return all users for operators, and only the user's own row for others."""
        rows: QuerySet[User] = super().get_queryset(request)
        return rows if is_operator(request) else rows.filter(pk=current_user(request).pk)

    def has_view_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Return True for a user's own row, and for operators."""
        return is_operator(request) or obj is None or obj == request.user

    has_change_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: users are created by inviting members, operators by `createsuperuser`."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Return False: what users did must stay readable, so they are deactivated instead."""
        return False

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Return whether the menu shows the list: to operators only."""
        return is_operator(request)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Return False for password lookups: a list filtered by the hash would reveal it bit by bit."""
        return not lookup.startswith("password") and super().lookup_allowed(lookup, value, request)

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Fieldsets:
        """Return the profile, and for operators also the access."""
        return [self.profile, self.access] if is_operator(request) else [self.profile]

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        """Return the fields that the user may not change: nobody changes their own access, only operators an e-mail."""
        if not is_operator(request):
            return ("email",)
        own_access = ("is_active", "is_staff", "is_superuser") if obj == request.user else ()
        return ("id", "date_joined", "last_login", *own_access)

    def has_operator_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Return whether the user is an operator."""
        return is_operator(request)

    def save_model(self, request: HttpRequest, obj: User, form: UserForm, change: bool) -> None:
        save_user(user=obj, changed=form.changed_data)

    @object_action(
        "Create a password link",
        icon="key",
        question="Create a link for this user to choose a new password?",
        when=is_active,
        permission="operator",
    )
    def make_password_link(self, request: HttpRequest, user: User, form: ConfirmationForm) -> HttpResponse:
        """Show a password link for any user."""
        return secret_page(
            self,
            request,
            user,
            title="Password link",
            explanation=LINK_EXPLANATION,
            secret=password_link(request, user),
        )
