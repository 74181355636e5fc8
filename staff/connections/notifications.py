"""Notifications in the admin, and the members' choice of e-mails."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from notifications.models import MEMBER_CHOICES, MailPreference, Notification
from notifications.services import set_muted_kinds
from organizations.models import Membership
from organizations.permissions import Area
from staff.toolkit.actions import AnyPage, ConfirmationForm, object_action
from staff.toolkit.base import format_json, state_label
from staff.toolkit.fields import CheckboxesField
from staff.toolkit.filters import named
from staff.toolkit.lists import DayRangeFilter, column
from staff.toolkit.newest_search import HELP, NewestSearchAdmin


@admin.register(Notification)
class NotificationAdmin(NewestSearchAdmin):
    empty_text = (
        "Members are notified when one of their appointments is booked, moved or canceled. So are leads, if "
        "Messages to leads has texts that are switched on."
    )
    area = Area.MESSAGES
    can_add = can_change = False
    list_display = (
        "kind",
        "channel",
        "recipient",
        state_label,
        "attempt_count",
        "last_error",
        "finished_at",
        "created_at",
    )
    channel = column("Channel", lambda notification: notification.get_medium_display(), ordering="medium")
    formatted_context = column("Data", lambda notification: format_json(notification.context))
    select_related = ("recipient__user",)
    long_columns = ("context",)
    list_filter = ("kind", ("medium", named("channel")), "state", ("created_at", DayRangeFilter))
    search_fields = ("recipient__user__email", "recipient__user__first_name", "recipient__user__last_name")
    search_help_text = f"Search by the recipient's name or e-mail. {HELP}"
    fields = (
        ("kind", "channel", "recipient"),
        ("state", "attempt_count"),
        ("last_error", "next_attempt_at"),
        ("created_at", "finished_at"),
        "formatted_context",
    )
    readonly_fields = ("channel", "formatted_context")


class EmailNotificationsForm(ConfirmationForm):
    kinds = CheckboxesField(choices=MEMBER_CHOICES, required=False, label="E-mails about")
    shown = forms.CharField(required=False, widget=forms.HiddenInput)  # what was ticked when the page was opened

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        preference: MailPreference | None = getattr(self.subject, "mail_preference", None)
        muted = preference.muted if preference else []
        self.initial["kinds"] = [kind for kind, _ in MEMBER_CHOICES if kind not in muted]
        self.initial["shown"] = " ".join(self.initial["kinds"])


@object_action(
    "E-mail notifications",
    icon="mail",
    question="Which notifications does the member get by e-mail?",
    form=EmailNotificationsForm,
)
def email_notifications(page: AnyPage, request: HttpRequest, member: Membership, form: EmailNotificationsForm) -> None:
    """Store what was ticked or unticked. Members tick themselves; managers can only switch off more for their team."""
    present, chosen = set(form.initial["kinds"]), set(form.cleaned_data["kinds"])
    shown = set(form.data.get("shown", form.initial["shown"]).split())
    ticked = chosen - shown if page.has_own_permission(request, member) else set()
    kinds = (present | ticked) - (shown - chosen)
    # Stored as the kinds switched off, so that a member gets new kinds until they choose otherwise.
    set_muted_kinds(member=member, kinds=[kind for kind, _ in MEMBER_CHOICES if kind not in kinds])
