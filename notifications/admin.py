"""Notifications in the admin: what members were told, and whether it arrived."""

import json
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import RangeDateFilter
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from notifications.models import Kind, MailPreference, Notification
from notifications.services import set_muted_kinds
from organizations.admin.actions import ConfirmationForm, object_action
from organizations.admin.members import MembershipAdmin
from organizations.admin.tenant import TenantAdmin
from organizations.models import Membership
from organizations.permissions import Area
from pipeline_backend.outbox import State

STATE_COLORS = {
    State.PENDING.label: "info",
    State.DONE.label: "success",
    State.DEAD.label: "danger",
    State.CANCELED.label: "warning",
}


@admin.register(Notification)
class NotificationAdmin(TenantAdmin):
    """Mails to members and messages to the team, a row for each."""

    area = Area.RECORDS
    can_add = can_change = False
    list_display = (
        "kind",
        "medium",
        "recipient",
        "state_label",
        "attempt_count",
        "last_error",
        "finished_at",
        "created_at",
    )
    select_related = ("recipient__user",)
    list_filter = ("kind", "medium", "state", ("created_at", RangeDateFilter))
    search_fields = ("recipient__user__email", "recipient__user__first_name", "recipient__user__last_name")
    search_help_text = "The recipient's name or e-mail"
    fields = (
        ("kind", "medium", "recipient"),
        ("state", "attempt_count"),
        ("last_error", "next_attempt_at"),
        ("created_at", "finished_at"),
        "content",
    )
    readonly_fields = ("content",)

    @display(description="State", ordering="state", label=STATE_COLORS)  # type: ignore[untyped-decorator]
    def state_label(self, notification: Notification) -> str:
        """As a colored label."""
        return notification.get_state_display()

    @admin.display(description="Facts")
    def content(self, notification: Notification) -> SafeString:
        """What the message is written from."""
        text = json.dumps(notification.context, indent=2, ensure_ascii=False)
        return format_html('<pre style="overflow-wrap:anywhere;white-space:pre-wrap">{}</pre>', text)


class MailsForm(ConfirmationForm):
    """The kinds of mails that a member gets."""

    kinds = forms.MultipleChoiceField(
        choices=Kind.choices, required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget, label="Mails about"
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        preference: MailPreference | None = getattr(self.subject, "mail_preference", None)
        self.initial["kinds"] = [kind for kind in Kind.values if preference is None or kind not in preference.muted]


admin.site.unregister(Membership)


@admin.register(Membership)
class MemberAdmin(MembershipAdmin):
    """Members, with the mails that they want: the page of `organizations`, which knows nothing of notifications."""

    actions_detail = (*MembershipAdmin.actions_detail, "email_notifications")

    @object_action("Choose mails", icon="mail", question="Which notifications does the member get?", form=MailsForm)
    def email_notifications(self, request: HttpRequest, member: Membership, form: Any) -> None:
        """By the member, or by who leads the team."""
        set_muted_kinds(member=member, kinds=[kind for kind in Kind.values if kind not in form.cleaned_data["kinds"]])
