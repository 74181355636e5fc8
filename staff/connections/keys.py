"""The admin page of API keys: issue, rotate and revoke. The full key is shown once (docs/interface.md, K5 to K7)."""

from datetime import datetime
from operator import attrgetter
from uuid import UUID

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse

from accounts.pages import secret_page
from foundation.db.timestamps import now
from organizations.defaults import both_scopes
from organizations.models import ApiKey, Scope
from organizations.permissions import PERMISSIONS, Area, current_user, has_role
from organizations.services import issue_key, revoke_key, rotate_key
from staff.toolkit.actions import ConfirmationForm, object_action, row_url
from staff.toolkit.fields import CheckboxesField, SelectField
from staff.toolkit.lists import column
from staff.toolkit.tenant import TenantAdmin, TenantForm


class KeyForm(TenantForm):
    scopes = CheckboxesField(choices=Scope.choices, initial=both_scopes)

    class Meta:
        help_texts = {
            "name": "The system that uses the key.",
            "expires_at": "Leave empty for a key that does not expire.",
        }

    def clean_expires_at(self) -> datetime | None:
        expires_at: datetime | None = self.cleaned_data["expires_at"]
        if expires_at and expires_at <= now():
            raise forms.ValidationError("Enter a time in the future.")
        return expires_at

    def clean_scopes(self) -> list[str]:
        scopes: list[str] = self.cleaned_data["scopes"]
        if Scope.ERASE in scopes and not may_erase(self.request, self.organization.pk):
            raise forms.ValidationError("Only owners and managers issue keys that erase leads.")
        return scopes


class RotationForm(ConfirmationForm):
    overlap = SelectField(
        choices={"now": "Immediately", "1h": "In 1 hour", "24h": "In 24 hours", "7d": "In 7 days"},
        initial="24h",
        label="The old key stops working",
    )


def may_erase(request: HttpRequest, organization_id: UUID) -> bool:
    return has_role(request, PERMISSIONS[Area.PRIVACY].write, organization_id)


def newest_key_id(key: ApiKey) -> UUID:
    """Return the id of the newest key with the same name: each rotation adds one."""
    same_name = ApiKey.objects.of(key.organization).filter(name=key.name)
    newest: UUID = same_name.order_by("created_at", "id").values_list("pk", flat=True).last()
    return newest


def show_key(request: HttpRequest, key: ApiKey, text: str) -> HttpResponse:
    explanation = (
        "Requests send it in the x-api-key header. It is shown only once: store it now, where only your integration "
        "can read it."
    )
    return secret_page(request, key, row_url(key), title="New API key", explanation=explanation, secret=text)


@admin.register(ApiKey)
class ApiKeyAdmin(TenantAdmin):
    empty_text = "Add one for each system that sends opt-ins or bookings."
    area = Area.CONNECTIONS
    is_read_only = True
    form = KeyForm
    list_display = ("name", "public_part", "state", "scopes", "last_used_at", "expires_at", "created_by", "created_at")
    public_part = column("Key", lambda key: f"pb_{key.key_id}_…")
    select_related = ("created_by",)
    search_fields = ("name", "key_id")
    actions_detail = ("rotate", "revoke")
    add_fieldsets = ((None, {"fields": ("name", "scopes", "expires_at")}),)
    fields = (
        "name",
        "public_part",
        "state",
        "scopes",
        ("created_at", "created_by"),
        ("expires_at", "revoked_at"),
        "last_used_at",
    )

    def has_rotate_permission(self, request: HttpRequest, key: ApiKey) -> bool:
        may_issue = Scope.ERASE not in key.scopes or may_erase(request, key.organization_id)
        return may_issue and self.has_change_permission(request, key)

    @admin.display(description="State")
    def state(self, key: ApiKey) -> str:
        if key.revoked_at:
            return "Revoked"
        return "Active" if key.is_live else "Expired"

    def save_model(self, request: HttpRequest, obj: ApiKey, form: KeyForm, change: bool) -> None:
        """Issue the key. Copy ids and text to `obj`, which Django's admin and `response_add` use next."""
        if change:
            return
        values = {name: form.cleaned_data[name] for name in ("name", "scopes", "expires_at")}
        key, obj.text = issue_key(organization=form.organization, created_by=current_user(request), id=obj.pk, **values)
        obj.pk, obj.key_id = key.pk, key.key_id

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        return show_key(request, obj, obj.text)

    @object_action(
        "Rotate",
        icon="autorenew",
        permission="rotate",
        question="Create a new key with the same name and scopes, which doesn't expire, and let this one expire?",
        form=RotationForm,
        is_possible=attrgetter("is_live"),
        state=newest_key_id,
        answer=lambda request, key, result: show_key(request, *result),
    )
    def rotate(self, request: HttpRequest, key: ApiKey, form: RotationForm) -> tuple[ApiKey, str]:
        new_key, text = rotate_key(key=key, overlap=form.cleaned_data["overlap"], created_by=current_user(request))
        self.log_addition(request, new_key, "Created by rotation.")
        return new_key, text

    @object_action(
        "Revoke",
        icon="block",
        question="Revoke this key? All further requests with it will be refused.",
        danger=True,
        is_possible=attrgetter("is_live"),
    )
    def revoke(self, request: HttpRequest, key: ApiKey, form: ConfirmationForm) -> None:
        revoke_key(key=key)
