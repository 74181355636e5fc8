"""API keys: issued, rotated and revoked; the full text is shown once (decision 11)."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminSelectWidget

from organizations.admin.actions import ConfirmationForm, object_action, secret_page
from organizations.admin.tenant import TenantAdmin, TenantForm
from organizations.defaults import both_scopes
from organizations.models import ApiKey, Scope
from organizations.permissions import Area, current_user
from organizations.services import OVERLAPS, issue_key, revoke_key, rotate_key
from pipeline_backend.db.timestamps import now

ONCE = "Requests send it in the x-api-key header. It is shown this once: keep it now, where only your integration can read it."
OVERLAP_LABELS = {"now": "End it now", "1h": "In 1 hour", "24h": "In 24 hours", "7d": "In 7 days"}


class KeyForm(TenantForm):
    """A new key."""

    scopes = forms.MultipleChoiceField(
        choices=Scope.choices, initial=both_scopes, widget=UnfoldAdminCheckboxSelectMultipleWidget
    )

    class Meta:
        model = ApiKey
        fields = ()
        help_texts = {"name": "What it is for.", "expires_at": "Empty: until it is revoked."}

    def clean_expires_at(self) -> Any:
        """Still to come."""
        end = self.cleaned_data["expires_at"]
        if end and end <= now():
            raise forms.ValidationError("This is over already.")
        return end


class RotationForm(ConfirmationForm):
    """When the old key ends."""

    overlap = forms.ChoiceField(
        choices=[(name, OVERLAP_LABELS[name]) for name in OVERLAPS],
        initial="24h",
        label="The old key ends",
        widget=UnfoldAdminSelectWidget,
    )


def is_live(key: ApiKey) -> bool:
    """Whether there is something to rotate or revoke."""
    return key.is_live


@admin.register(ApiKey)
class ApiKeyAdmin(TenantAdmin):
    """Integrations' keys."""

    area = Area.CONNECTIONS
    form = KeyForm
    list_display = ("name", "public_part", "state", "scopes", "last_used_at", "expires_at", "created_by", "created_at")
    select_related = ("created_by",)
    search_fields = ("name", "key_id")
    actions_detail = ("rotate", "revoke")
    fields = ("name", "scopes", "expires_at")
    facts = (
        "name",
        "public_part",
        "state",
        "scopes",
        ("created_at", "created_by"),
        ("expires_at", "revoked_at"),
        "last_used_at",
    )

    def get_fieldsets(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        """A stored key is only shown."""
        return [(None, {"fields": self.facts})] if obj else super().get_fieldsets(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        """All of a stored key."""
        return [name for line in self.facts for name in ([line] if isinstance(line, str) else line)] if obj else ()

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "", extra_context: Any = None
    ) -> Any:
        """There is nothing to save on a stored key, and no second key by a button."""
        hidden = {"show_save": object_id is None, "show_save_and_continue": False, "show_save_and_add_another": False}
        return super().changeform_view(request, object_id, form_url, {**(extra_context or {}), **hidden})

    @admin.display(description="Key")
    def public_part(self, key: ApiKey) -> str:
        """What can be told of it."""
        return f"pb_{key.key_id}_…"

    @admin.display(description="State")
    def state(self, key: ApiKey) -> str:
        """In a word."""
        if key.revoked_at:
            return "Revoked"
        return "Live" if key.is_live else "Expired"

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        """Issue it; its text is kept for the answer alone."""
        if change:
            return
        data = form.cleaned_data
        key, vars(request)["secret"] = issue_key(
            organization=form.organization,
            name=data["name"],
            scopes=data["scopes"],
            expires_at=data["expires_at"],
            created_by=current_user(request),
        )
        obj.pk, obj.key_id = key.pk, key.key_id

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: Any = None) -> HttpResponse:
        """The full key, once."""
        return secret_page(
            self, request, obj, title="The new API key", explanation=ONCE, secret=vars(request)["secret"]
        )

    @object_action(
        "Rotate",
        icon="autorenew",
        question="Make a second key like this one, and let this one end?",
        form=RotationForm,
        when=is_live,
    )
    def rotate(self, request: HttpRequest, key: ApiKey, form: Any) -> HttpResponse:
        """The second key, once."""
        made, text = rotate_key(key=key, overlap=form.cleaned_data["overlap"], created_by=current_user(request))
        self.log_addition(request, made, "Made by rotation.")
        return secret_page(self, request, made, title="The new API key", explanation=ONCE, secret=text)

    @object_action(
        "Revoke", icon="block", question="Revoke this key? Its next request is refused.", danger=True, when=is_live
    )
    def revoke(self, request: HttpRequest, key: ApiKey, form: Any) -> None:
        """It opens nothing any more."""
        revoke_key(key=key)
