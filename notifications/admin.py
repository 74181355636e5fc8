"""Notifications in the admin: what members were told, and whether it arrived."""

import json

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.contrib.filters.admin import RangeDateFilter
from unfold.decorators import display

from notifications.models import Notification
from organizations.admin.tenant import TenantAdmin
from organizations.rights import Area
from pipeline_backend.outbox import State

STATE_COLORS = {State.PENDING.label: "info", State.DONE.label: "success", State.DEAD.label: "danger", State.CANCELED.label: "warning"}


@admin.register(Notification)
class NotificationAdmin(TenantAdmin):
    """Mails to members, a row for each."""

    area = Area.RECORDS
    can_add = can_change = False
    list_display = ("kind", "recipient", "state_label", "attempts", "last_error", "finished_at", "created_at")
    list_select_related = ("recipient__user",)
    list_filter = ("kind", "state", ("created_at", RangeDateFilter))
    search_fields = ("recipient__user__email", "recipient__user__first_name", "recipient__user__last_name")
    search_help_text = "The recipient's name or e-mail"
    fields = (("kind", "recipient"), ("state", "attempts"), ("last_error", "next_attempt_at"), ("created_at", "finished_at"), "content")
    readonly_fields = ("content",)

    @display(description="State", ordering="state", label=STATE_COLORS)
    def state_label(self, notification: Notification) -> str:
        """As a colored label."""
        return notification.get_state_display()

    @admin.display(description="Facts")
    def content(self, notification: Notification) -> SafeString:
        """What the mail is written from."""
        text = json.dumps(notification.facts, indent=2, ensure_ascii=False)
        return format_html('<pre style="overflow-wrap:anywhere;white-space:pre-wrap">{}</pre>', text)
