"""Notifications, and the members' choice of e-mails (docs/interface.md, N1 to N3)."""

from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.fields.json import KeyTransform

from foundation.outbox import Job, State
from organizations.isolation import TenantModel
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


class ChannelKind(models.TextChoices):
    EMAIL = "EMAIL", "E-mail"
    SLACK = "SLACK", "Slack"


class Notification(TenantModel, Job):
    """One message on one channel, with the data it is rendered from. Slack messages have no recipient."""

    kind = models.CharField(max_length=20, choices=Kind.choices, editable=False)
    medium = models.CharField(max_length=8, choices=ChannelKind.choices, default=ChannelKind.EMAIL, editable=False)
    recipient = models.ForeignKey(Membership, null=True, on_delete=models.CASCADE, related_name="+", editable=False)
    # What it is about: an appointment, or a lead. Null for other kinds, and for those of version 0.2.
    subject_id = models.UUIDField(null=True, editable=False)
    context = models.JSONField(editable=False, db_column="facts")

    class Meta(TenantModel.Meta):
        ordering = ["-created_at", "-id"]
        indexes = [
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
        return f"{self.get_kind_display()} to {self.recipient or self.get_medium_display()}"


class MailPreference(TenantModel):
    """The kinds of e-mails that a member has switched off. Members without a row get all of them."""

    id = None  # type: ignore[assignment]  # the member's
    member = models.OneToOneField(
        Membership, primary_key=True, on_delete=models.CASCADE, related_name="mail_preference"
    )
    muted = ArrayField(
        models.CharField(max_length=20, choices=Kind.choices),
        default=list,
        blank=True,
        verbose_name="muted e-mail notifications",
    )

    class Meta(TenantModel.Meta):
        pass

    def __str__(self) -> str:
        return f"Mail preference of {self.member}"
