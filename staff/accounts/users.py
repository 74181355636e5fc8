"""The admin page of users: everyone has their own, operators see all."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from foundation.db.timestamps import zone_names
from organizations.models import User
from organizations.permissions import current_user, is_operator
from organizations.services import save_user
from staff.toolkit.actions import actor_of
from staff.toolkit.base import Fieldsets, ServiceAdmin
from staff.toolkit.fields import SelectField
from staff.toolkit.forms import ServiceForm, WebAddressField, accepted_email


class UserForm(ServiceForm):
    time_zone = SelectField(help_text="Times in e-mails and on these pages are shown in this time zone.")
    profile_image_url = WebAddressField(label="Profile image URL")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # With the user's own: the server's time zone database may lack it.
        names = sorted(zone_names() | {self.instance.time_zone})
        self.fields["time_zone"].choices = [(name, name.replace("_", " ")) for name in names]

    def clean_email(self) -> str:
        email = accepted_email(self, "email")
        if User.objects.exclude(pk=self.instance.pk).with_email(email).exists():
            raise forms.ValidationError("This e-mail belongs to another account.")
        return email


@admin.register(User)
class UserAdmin(ServiceAdmin):
    can_add = False  # people make their account by accepting an invitation, operators by `createsuperuser`
    form = UserForm
    list_display = ("email", "first_name", "last_name", "is_superuser", "is_active", "last_login")
    list_filter = ("is_superuser", "is_active")
    search_fields = ("email", "first_name", "last_name", "=id")
    profile = ("Profile", {"fields": ["email", ("first_name", "last_name"), "time_zone", "profile_image_url"]})
    access = (
        "Access",
        {"fields": [("is_active", "is_superuser"), ("id", "email_verified_at", "date_joined", "last_login")]},
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        rows: QuerySet[User] = super().get_queryset(request)
        return rows if is_operator(request) else rows.filter(pk=current_user(request).pk)

    def has_view_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return is_operator(request) or obj is None or obj == request.user

    has_write_permission = has_view_permission

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_operator(request)

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        # A list that is filtered by the password's hash would reveal it bit by bit.
        return not lookup.startswith("password") and super().lookup_allowed(lookup, value, request)

    def get_fieldsets(self, request: HttpRequest, obj: User | None = None) -> Fieldsets:
        return [self.profile, self.access] if is_operator(request) else [self.profile]

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        if not is_operator(request):
            return ("email",)
        own_access = ("is_active", "is_superuser") if obj == request.user else ()
        return ("id", "email_verified_at", "date_joined", "last_login", *own_access)

    def save_model(self, request: HttpRequest, obj: User, form: UserForm, change: bool) -> None:
        save_user(actor=actor_of(request), user=obj, changed=form.changed_data)
