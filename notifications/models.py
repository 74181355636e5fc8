"""Notifications, the members' choice of e-mails, and messages to leads (docs/interface.md, N1 to N3, N10 to N16)."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q, UniqueConstraint
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Length
from django.db.models.lookups import LessThanOrEqual

from foundation.outbox import Job, State
from organizations.isolation import TenantForeignKey, TenantModel
from organizations.models import Membership

# The JSON data that a notification is rendered from. Its members depend on the kind.
Context = dict[str, Any]


class Kind(models.TextChoices):
    """The subject of a notification. The label begins the subject of its e-mail."""

    CALL_BOOKED = "CALL_BOOKED", "Call Booked"
    CALL_RESCHEDULED = "CALL_RESCHEDULED", "Call Rescheduled"
    CALL_CANCELED = "CALL_CANCELED", "Call Canceled"
    CALL_UPDATED = "CALL_UPDATED", "Call Updated"
    CALL_REASSIGNED = "CALL_REASSIGNED", "Call Reassigned"
    MENTIONED = "MENTIONED", "Mentioned in a note"
    HANDED_OVER = "HANDED_OVER", "Work handed over"
    ENDPOINTS_FAILING = "ENDPOINTS_FAILING", "Webhook endpoints need attention"
    LEAD_INVITED = "LEAD_INVITED", "Invitation to the lead"
    LEAD_RESCHEDULED = "LEAD_RESCHEDULED", "New time for the lead"
    LEAD_CANCELED = "LEAD_CANCELED", "Cancellation to the lead"
    LEAD_REMINDED = "LEAD_REMINDED", "Reminder to the lead"


# The kinds that leads get, with their names on the page of the texts; members get all others.
LEAD_KINDS = {
    Kind.LEAD_INVITED: "Invitation",
    Kind.LEAD_RESCHEDULED: "New time",
    Kind.LEAD_CANCELED: "Cancellation",
    Kind.LEAD_REMINDED: "Reminder",
}
MEMBER_CHOICES = [(kind.value, kind.label) for kind in Kind if kind not in LEAD_KINDS]


class ChannelKind(models.TextChoices):
    EMAIL = "EMAIL", "E-mail"
    SLACK = "SLACK", "Slack"


class Notification(TenantModel, Job):
    """One message on one channel, with the data it is rendered from.

    The recipient is a member. Messages to Slack and to leads have none; a lead's address is in the context.
    """

    kind = models.CharField(max_length=20, choices=Kind.choices, editable=False)
    medium = models.CharField(max_length=8, choices=ChannelKind.choices, default=ChannelKind.EMAIL, editable=False)
    recipient = TenantForeignKey(Membership, null=True, on_delete=models.CASCADE, related_name="+", editable=False)
    # What it is about: an appointment, or a lead. Null for other kinds, and for those of version 0.2.
    subject_id = models.UUIDField(null=True, editable=False)
    context = models.JSONField(editable=False, db_column="facts")
    # Of an e-mail to a lead; it stays when the lead is merged. Null for all others.
    lead_id = models.UUIDField(null=True, editable=False)

    class Meta(TenantModel.Meta):
        ordering = ["-created_at", "-id"]
        indexes = [
            # For the limit of e-mails to one lead, however many were refused or canceled.
            models.Index(
                fields=["lead_id", "-created_at"],
                condition=Q(lead_id__isnull=False) & ~Q(last_error="lead_limit") & ~Q(state=State.CANCELED),
                name="notification_lead",
            ),
            models.Index(
                fields=["subject_id", "-created_at", "-id"],
                condition=Q(subject_id__isnull=False),
                name="notification_subject",
            ),
            # For erasing a lead: those of version 0.2 name the appointment in their context only.
            models.Index(
                KeyTransform("appointment_id", "context"),
                condition=Q(subject_id__isnull=True),
                name="notification_older_subject",
            ),
            models.Index(
                fields=["organization", "medium", "next_attempt_at"],
                condition=Q(state=State.PENDING),
                name="notification_due",
            ),
            models.Index(fields=["organization", "-created_at", "-id"], name="notification_newest"),
            # For the alerts on the home page, which count dead notifications among millions.
            models.Index(
                fields=["organization", "-created_at", "-id"], condition=Q(state=State.DEAD), name="notification_dead"
            ),
        ]

    def __str__(self) -> str:
        if self.kind in LEAD_KINDS and self.recipient is None:
            return self.get_kind_display()
        return f"{self.get_kind_display()} to {self.recipient or self.get_medium_display()}"


class MailPreference(TenantModel):
    """The kinds of e-mails that a member has switched off. Members without a row get all of them."""

    id = None  # type: ignore[assignment]  # the member's
    member = models.OneToOneField(
        Membership, primary_key=True, on_delete=models.CASCADE, related_name="mail_preference", db_constraint=False
    )
    muted = ArrayField(
        models.CharField(max_length=20, choices=MEMBER_CHOICES),
        default=list,
        blank=True,
        verbose_name="muted e-mail notifications",
    )

    class Meta(TenantModel.Meta):
        pass

    def __str__(self) -> str:
        return f"Mail preference of {self.member}"


MAX_SUBJECT, MAX_TEXT = 200, 5_000  # characters of a message to leads


class LeadMessage(TenantModel):
    """The text of one kind of e-mail to leads. Leads get none of a kind without a row, or whose row is off."""

    kind = models.CharField("message", max_length=20, choices=[(kind.value, name) for kind, name in LEAD_KINDS.items()])
    is_active = models.BooleanField("send it", default=False, db_default=False)
    subject = models.CharField(max_length=MAX_SUBJECT)
    text = models.TextField(max_length=MAX_TEXT)

    class Meta(TenantModel.Meta):
        verbose_name = "message to leads"
        verbose_name_plural = "messages to leads"
        ordering = ["kind"]
        constraints = [
            UniqueConstraint(fields=["organization", "kind"], name="one_lead_message_per_kind"),
            models.CheckConstraint(
                condition=LessThanOrEqual(Length("text"), MAX_TEXT), name="lead_message_has_at_most_5000_characters"
            ),
        ]

    def __str__(self) -> str:
        return self.get_kind_display()
