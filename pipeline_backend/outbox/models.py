"""The columns that every queued job has."""

from django.db import models
from django.db.models.functions import Now

from pipeline_backend.db.timestamps import MillisecondDateTimeField


class State(models.TextChoices):
    """The states of a job. A leased job is still PENDING: it carries a lease token and is due when the lease ends."""

    PENDING = "PENDING", "Pending"
    DONE = "DONE", "Delivered"
    DEAD = "DEAD", "Dead"
    CANCELED = "CANCELED", "Canceled"


class Job(models.Model):
    """Base class of a table that is a queue.

    `attempt_count` counts stored results, `claim_count` the leases since the last one. `next_attempt_at` is when the
    job may be claimed; while it is leased, when the lease ends.
    """

    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING, editable=False)
    # Raw SQL (queue.py, results.py, webhooks) names these two columns "attempts" and "claims".
    attempt_count = models.PositiveIntegerField("attempts", default=0, editable=False, db_column="attempts")
    claim_count = models.PositiveIntegerField("claims", default=0, editable=False, db_column="claims")
    next_attempt_at = MillisecondDateTimeField(null=True, db_default=Now(), editable=False)
    lease_token = models.UUIDField(null=True, editable=False)
    last_error = models.CharField(max_length=40, blank=True, editable=False)
    finished_at = MillisecondDateTimeField(null=True, editable=False)
    is_replay = models.BooleanField(default=False, editable=False)

    class Meta:
        abstract = True
