"""The columns of a queued job."""

from django.db import models
from django.db.models.functions import Now

from pipeline_backend.db.timestamps import MillisecondDateTimeField


class State(models.TextChoices):
    """What can become of a job."""

    PENDING = "PENDING", "Pending"
    DONE = "DONE", "Delivered"
    DEAD = "DEAD", "Dead"
    CANCELED = "CANCELED", "Canceled"


class Job(models.Model):
    """Columns of a queued job. `next_attempt_at` is when it may be claimed; while leased, when the lease ends."""

    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING, editable=False)
    attempt_count = models.PositiveIntegerField("attempts", default=0, editable=False, db_column="attempts")
    claim_count = models.PositiveIntegerField("claims", default=0, editable=False, db_column="claims")
    next_attempt_at = MillisecondDateTimeField(null=True, db_default=Now(), editable=False)
    lease_token = models.UUIDField(null=True, editable=False)
    last_error = models.CharField(max_length=40, blank=True, editable=False)
    finished_at = MillisecondDateTimeField(null=True, editable=False)
    is_replay = models.BooleanField(default=False, editable=False)

    class Meta:
        abstract = True
