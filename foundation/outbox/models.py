"""Jobs: the columns that each has, the retry schedule (docs/interface.md, W15 and W16), and how a result is stored."""

import random
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models.functions import Now

from foundation.db.timestamps import MillisecondDateTimeField

MINUTE, HOUR = 60, 3600

# Seconds between one attempt and the next; the list's length is the number of attempts.
RETRY_SCHEDULE = [0, 5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]
JITTER = 0.2

ResultRow = dict[str, Any]


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
    # Raw SQL (below, and in webhooks) names these two columns "attempts" and "claims".
    attempt_count = models.PositiveIntegerField("attempts", default=0, editable=False, db_column="attempts")
    claim_count = models.PositiveIntegerField("claims", default=0, editable=False, db_column="claims")
    next_attempt_at = MillisecondDateTimeField(null=True, db_default=Now(), editable=False)
    lease_token = models.UUIDField(null=True, editable=False)
    last_error = models.CharField(max_length=40, blank=True, editable=False)
    finished_at = MillisecondDateTimeField(null=True, editable=False)
    is_replay = models.BooleanField(default=False, editable=False)

    class Meta:
        abstract = True


@dataclass(frozen=True)
class Result:
    """The result of one attempt.

    `error` is an error class, empty for success. `retry_after` is the delay in seconds that the receiver asked for.
    `is_final` says that no retry can help. The rest is what staff see of an HTTP request.
    """

    error: str = ""
    retry_after: float | None = None
    is_final: bool = False
    status_code: int | None = None
    response: str = ""
    duration_ms: int = 0
    request_head: str = ""

    def next_state(self, attempts: int) -> ResultRow:
        """Return the state of a job that had `attempts` attempts before this one, and the seconds until the next."""
        if not self.error:
            return {"state": State.DONE.value, "delay": None}
        if self.is_final or attempts + 1 >= len(RETRY_SCHEDULE):
            return {"state": State.DEAD.value, "delay": None}
        planned = RETRY_SCHEDULE[attempts + 1]
        # Jitter spreads the retries of receivers that failed together; it need not be unpredictable.
        spread = planned * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
        return {"state": State.PENDING.value, "delay": min(max(spread, self.retry_after or 0), 2 * planned)}


# Results are passed as one JSON parameter. `owned` are the jobs whose lease is still ours. A queue may add columns to
# `input` and CTEs after `updated`. LATERAL and ANY (ARRAY ...) are there because PostgreSQL can't estimate the size of
# `input` and would otherwise scan the whole table for it.
SAVE_RESULTS = """
WITH input AS (
    SELECT *
    FROM json_to_recordset(%s::json)
        AS input (id uuid, token uuid, state text, error text, delay float{columns})
), owned AS (
    SELECT job.id
    FROM input
    CROSS JOIN LATERAL (
        SELECT id
        FROM {table}
        WHERE id = input.id AND lease_token = input.token AND state = 'PENDING'
        FOR NO KEY UPDATE {lock_clause}
    ) AS job
), updated AS (
    UPDATE {table} AS job
    SET state = input.state,
        attempts = job.attempts + 1,
        claims = 0,
        lease_token = NULL,
        last_error = input.error,
        next_attempt_at = statement_timestamp() + input.delay * interval '1 second',
        finished_at = CASE WHEN input.delay IS NULL THEN statement_timestamp() END
    FROM input
    WHERE job.id = input.id AND job.id = ANY (ARRAY(SELECT id FROM owned))
    RETURNING job.id
){ctes}
SELECT id FROM updated
"""
