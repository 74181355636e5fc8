"""Queues: which jobs there are, which groups may be served, and how jobs are claimed, leased and released.

A worker claims due rows in a short transaction and commits before it touches the network. A lease is a fresh token and
a due time in the future, so the jobs of a worker that dies or hangs are simply due again (docs/decisions/0003). Every
later write is conditional on the token. All times are the database's, because workers' clocks may differ.
"""

import threading
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from pipeline_backend.db.compiled import CompiledQuery, Param
from pipeline_backend.outbox.models import State
from pipeline_backend.outbox.results import ResultRow, ResultStatements
from pipeline_backend.outbox.retries import ClaimedJob, Result, next_state

MAX_CLAIMS = 5
BATCH_SIZE = 50

Send = Callable[[Any], Awaitable[Any]]  # from a claimed job to its Result

# Set when this process is asked to stop; nothing is claimed after that.
shutdown_requested = threading.Event()

LEASE = """
UPDATE {table}
SET lease_token = %s,
    claims = claims + 1,
    next_attempt_at = statement_timestamp() + %s * interval '1 second'
WHERE id = ANY(%s)
"""


@dataclass(frozen=True)
class Limit:
    """A limit on how many jobs are sent in a period, which several groups may share."""

    # Counts as many of these jobs of one group as the limit allows, and returns how many. If these are not all, pauses
    # the group. Called with the group locked, in the transaction of the claim.
    take: Callable[[Sequence[Any]], int]
    # Counts these jobs no longer, because they were not sent.
    give_back: Callable[[Sequence[Any]], None]
    # The group's column that says until when none of its jobs are claimed; null if it is not paused.
    pause_field: str


@dataclass(frozen=True)
class Queue:
    """One kind of job: its table, how its jobs are grouped by receiver, and how a group's jobs are sent."""

    model: type[Any]
    # The foreign key to the receiver, and its model. The jobs of a group share a connection, a lane and its limits.
    group_field: str
    group_model: type[models.Model]
    # Opens what a group's jobs share, such as a connection, and yields the coroutine function that sends one job.
    open_session: Callable[[Any], AbstractAsyncContextManager[Send]]
    # The groups that may be served at all.
    enabled: Q
    # Adds to the query of due jobs what sending needs, and builds a job from each of its rows.
    select_for_claim: Callable[[QuerySet], QuerySet]
    build_job: Callable[[Any], Any]
    # The groups that only the slow lane serves.
    slow_lane: Q | None = None
    # The rows of the table that belong to this queue; None for all.
    filter: Q | None = None
    # What a queue adds to the statement that stores results: CTEs after `updated`, the input columns that they read,
    # and a function that returns the values of those columns for a job and its result.
    result_ctes: str = ""
    result_columns: str = ""
    result_values: Callable[[Any, Any], ResultRow] | None = None
    # Called with the job and its result once a failure is stored.
    after_failure: Callable[[Any, Any], None] | None = None
    max_workers_per_group: int = 2
    limit: Limit | None = None

    @property
    def rows(self) -> QuerySet:
        """Return every job of this queue, of all organizations."""
        return self.model.unscoped.filter(self.filter or Q())

    def lane_groups(self, *, is_slow: bool) -> QuerySet:
        """Return the enabled groups of one lane."""
        groups = self.group_model._base_manager.filter(self.enabled)
        if self.slow_lane is None:
            return groups.none() if is_slow else groups
        return groups.filter(self.slow_lane) if is_slow else groups.exclude(self.slow_lane)

    def paused_since(self, age: timedelta = timedelta()) -> Q:
        """Return the condition for groups that are paused, or whose pause ended less than `age` ago."""
        return Q(**{f"{self.limit.pause_field}__gt": Now() - age}) if self.limit else Q(pk__in=[])

    def groups_with_due_jobs(self, is_slow: bool = False) -> list[UUID]:
        """Return the ids of a lane's groups that have a due job and are not paused, the longest waiting first."""
        due = self.rows.filter(
            state=State.PENDING,
            next_attempt_at__lte=Now(),
            **{f"{self.group_field}__in": self.lane_groups(is_slow=is_slow).exclude(self.paused_since())},
        )
        by_age = due.order_by().values(self.group_field).annotate(since=models.Min("next_attempt_at"))
        return list(by_age.order_by("since").values_list(self.group_field, flat=True))

    def get_group(self, group_id: UUID, is_slow: bool) -> models.Model | None:
        """Return the group, or None if that lane does not serve it."""
        return self.lane_groups(is_slow=is_slow).filter(pk=group_id).first()

    @transaction.atomic
    def claim(self, group_id: UUID, limit: int = BATCH_SIZE) -> list[ClaimedJob]:
        """Lease the group's oldest due jobs, replays last, as far as the limit allows.

        Return none if enough workers already serve the group, or if it is paused. Locks the group, then its jobs.
        """
        queries = self.claim_queries
        # The lock makes concurrent claims take turns; otherwise two could both count one worker too few.
        if queries.lock_group.first(group=group_id) is None:
            return []
        if len(queries.active_leases.all(group=group_id)) >= self.max_workers_per_group:
            return []
        query = queries.next_job if limit == 1 else queries.next_batch
        rows = query.all(group=group_id) or self.claim_suspect(group_id)
        jobs = [self.build_job(row) for row in rows]
        if jobs and self.limit:
            jobs = jobs[: self.limit.take(jobs)]
        return lease(jobs, self.model)

    @transaction.atomic
    def release(self, jobs: Sequence[ClaimedJob]) -> None:
        """Release unsent jobs whose lease we still hold. Locks the group if it has a limit, then the jobs."""
        if not jobs:
            return
        if self.limit:
            # Giving back locks the group. Locked after its jobs, it could deadlock with whoever locks it before them.
            groups = self.group_model._base_manager.select_for_update(no_key=True, of=("self",))
            group_id = self.model.unscoped.filter(pk=jobs[0].pk).values(self.group_field)
            groups.filter(pk__in=group_id).values_list("pk").first()
        ours = self.model.unscoped.filter(
            pk__in=[job.pk for job in jobs], lease_token=jobs[0].lease_token, state=State.PENDING
        )
        # The claim is taken back too: it does not make a job suspect.
        released = ours.update(lease_token=None, next_attempt_at=Now(), claim_count=F("claim_count") - 1)
        if released and self.limit:
            self.limit.give_back(jobs[:released])

    @cached_property
    def claim_queries(self) -> "ClaimQueries":
        """Return the queue's compiled claim queries."""
        return ClaimQueries(self, BATCH_SIZE)

    def claim_suspect(self, group_id: UUID) -> list[Any]:
        """Return the row of a job whose last lease ended without a result, or no row.

        Such a job may have killed its worker, so it is claimed alone. After `MAX_CLAIMS` leases it is dead.
        """
        while rows := self.claim_queries.next_suspect.all(group=group_id):
            job = self.build_job(rows[0])
            if job.claim_count < MAX_CLAIMS:
                return rows
            mark_as_poison(job, self.model)
        return []

    def result_row(self, job: ClaimedJob, result: Result) -> ResultRow:
        """Return what the statement that stores results takes as input."""
        values = self.result_values(job, result) if self.result_values else {}
        return {"id": job.pk, "token": job.lease_token, "error": result.error, **next_state(job, result), **values}

    @cached_property
    def statements(self) -> ResultStatements:
        """Return the statements that store results."""
        return ResultStatements(self.model._meta.db_table, self.result_columns, self.result_ctes)


class ClaimQueries:
    """The queries of a claim; all take the `group` as their parameter.

    They are compiled once, since Django takes longer to compile one than PostgreSQL takes to run it.
    """

    def __init__(self, queue: Queue, batch_size: int) -> None:
        self.queue = queue
        self.batch_size = batch_size

    @cached_property
    def lock_group(self) -> CompiledQuery:
        """Lock the group, and find nothing if it is disabled or paused."""
        groups = self.queue.group_model._base_manager.select_for_update(no_key=True, of=("self",))
        active = groups.filter(self.queue.enabled).exclude(self.queue.paused_since())
        return CompiledQuery(lambda: active.filter(pk=Param("group")).values_list("pk"))

    @cached_property
    def active_leases(self) -> CompiledQuery:
        """Find the tokens of the group's leases that have not ended; each is one worker."""
        leased = self._pending().filter(lease_token__isnull=False, next_attempt_at__gt=Now())
        # Without order_by() the model's default order would join in the DISTINCT, and count rows instead of leases.
        return CompiledQuery(lambda: leased.order_by().values_list("lease_token").distinct())

    @cached_property
    def next_batch(self) -> CompiledQuery:
        """Find a batch of the oldest due jobs, replays last."""
        return CompiledQuery(lambda: self._due_without_suspects()[: self.batch_size])

    @cached_property
    def next_job(self) -> CompiledQuery:
        """Find the first job of that batch."""
        return CompiledQuery(lambda: self._due_without_suspects()[:1])

    @cached_property
    def next_suspect(self) -> CompiledQuery:
        """Find the due job with the fewest leases without a result."""
        suspects = self._due().filter(claim_count__gt=0)
        return CompiledQuery(lambda: suspects.order_by("claim_count", "next_attempt_at", "pk")[:1])

    def _due_without_suspects(self) -> QuerySet:
        """Return due jobs whose last lease, if there was one, ended with a result."""
        return self._due().filter(claim_count=0).order_by("is_replay", "next_attempt_at", "pk")

    def _due(self) -> QuerySet:
        """Return due jobs that no other worker is claiming, locked."""
        due = self._pending().filter(next_attempt_at__lte=Now())
        return self.queue.select_for_claim(due.select_for_update(skip_locked=True, of=("self",)))

    def _pending(self) -> QuerySet:
        return self.queue.rows.filter(Q(**{f"{self.queue.group_field}_id": Param("group")}), state="PENDING")


def lease(jobs: list[ClaimedJob], model: type[Any]) -> list[ClaimedJob]:
    """Put a fresh token and a due time on the jobs, and return them."""
    token = uuid.uuid4()
    for job in jobs:
        job.lease_token = token
    if jobs:
        statement = LEASE.format(table=model._meta.db_table)
        with connection.cursor() as cursor:
            cursor.execute(statement, [token, settings.DELIVERY_LEASE_SECONDS, [job.pk for job in jobs]])
    return jobs


def mark_as_poison(job: ClaimedJob, model: type[Any]) -> None:
    """Mark a poison job dead: its last `MAX_CLAIMS` claims ended without a result."""
    model.unscoped.filter(pk=job.pk).update(
        state=State.DEAD, last_error="worker_crash", next_attempt_at=None, lease_token=None, finished_at=Now()
    )
