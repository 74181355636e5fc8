"""Notifications: what members are told, a row for each (decision 34)."""

from django.db import models
from django.db.models import Q
from uuid_utils.compat import uuid7

from organizations.models import Membership
from organizations.tenancy import TenantModel
from pipeline_backend.outbox import Job, State


class Kind(models.TextChoices):
    """What happened; the label is the subject's start."""

    CALL_BOOKED = "CALL_BOOKED", "Call Booked"
    CALL_RESCHEDULED = "CALL_RESCHEDULED", "Call Rescheduled"
    CALL_CANCELED = "CALL_CANCELED", "Call Canceled"


class Notification(TenantModel, Job):
    """One mail to one member, with all that is needed to write it."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(max_length=20, choices=Kind.choices, editable=False)
    recipient = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="+", editable=False)
    facts = models.JSONField(editable=False)

    class Meta(TenantModel.Meta):
        ordering = ["-created_at", "-id"]
        indexes = [
            models.Index(fields=["organization", "next_attempt_at"], condition=Q(state=State.PENDING), name="notification_due"),
            models.Index(fields=["organization", "-created_at", "-id"], name="notification_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} to {self.recipient}"
