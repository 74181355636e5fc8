"""Notifications in the admin, and the members' choice of e-mails."""

import json
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget

from notifications.models import Kind, MailPreference, Notification
from notifications.services import set_muted_kinds
from organizations.admin.actions import ConfirmationForm, object_action
from organizations.admin.filters import DayRangeFilter
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


class ChannelFilter(ChoicesDropdownFilter):
    """A filter by the column `medium`, under the name that the pages use."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = "channel"


@admin.register(Notification)
class NotificationAdmin(TenantAdmin):
    """The list and the page of notifications: what members were sent, and whether it was delivered."""

    area = Area.RECORDS
    can_add = can_change = False
    list_display = (
        "kind",
        "channel",
        "recipient",
        "state_label",
        "attempt_count",
        "last_error",
        "finished_at",
        "created_at",
    )
    select_related = ("recipient__user",)
    list_filter = ("kind", ("medium", ChannelFilter), "state", ("created_at", DayRangeFilter))
    search_fields = ("recipient__user__email", "recipient__user__first_name", "recipient__user__last_name")
    search_help_text = "Search by the recipient's name or e-mail."
    fields = (
        ("kind", "channel", "recipient"),
        ("state", "attempt_count"),
        ("last_error", "next_attempt_at"),
        ("created_at", "finished_at"),
        "formatted_context",
    )
    readonly_fields = ("channel", "formatted_context")

    @admin.display(description="Channel", ordering="medium")
    def channel(self, notification: Notification) -> str:
        """Return the name of the channel."""
        return notification.get_medium_display()

    @display(description="State", ordering="state", label=STATE_COLORS)  # type: ignore[untyped-decorator]
    def state_label(self, notification: Notification) -> str:
        """Return the state, which the page shows as a colored label."""
        return notification.get_state_display()

    @admin.display(description="Data")
    def formatted_context(self, notification: Notification) -> SafeString:
        """Return the data that the message is rendered from, as indented JSON."""
        text = json.dumps(notification.context, indent=2, ensure_ascii=False)
        return format_html('<pre style="overflow-wrap:anywhere;white-space:pre-wrap">{}</pre>', text)


class EmailNotificationsForm(ConfirmationForm):
    """The kinds of e-mails that a member gets."""

    kinds = forms.MultipleChoiceField(
        choices=Kind.choices, required=False, widget=UnfoldAdminCheckboxSelectMultipleWidget, label="E-mails about"
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        preference: MailPreference | None = getattr(self.subject, "mail_preference", None)
        self.initial["kinds"] = [kind for kind in Kind.values if preference is None or kind not in preference.muted]


# `organizations` can't import this app, so its page of members is replaced by one with another action.
admin.site.unregister(Membership)


@admin.register(Membership)
class MemberAdmin(MembershipAdmin):
    """The list and the page of members, with the choice of their e-mails."""

    actions_detail = (*MembershipAdmin.actions_detail, "email_notifications")

    @object_action(
        "E-mail notifications",
        icon="mail",
        question="Which notifications does the member get by e-mail?",
        form=EmailNotificationsForm,
    )
    def email_notifications(self, request: HttpRequest, member: Membership, form: EmailNotificationsForm) -> None:
        """Store the choice. Members make it themselves; managers can only switch off more for their team."""
        # Stored as the kinds switched off, so that a member gets new kinds until they choose otherwise.
        wanted = set(form.cleaned_data["kinds"])
        if not self.has_own_permission(request, member):
            wanted &= set(form.initial["kinds"])
        muted = [kind for kind in Kind.values if kind not in wanted]
        set_muted_kinds(member=member, kinds=muted)
