"""The outbox: jobs are rows, written in the transaction of what causes them; Celery only rings.

A worker claims due rows in a short transaction and lets go of the database before it touches the network. A claim
is a fresh token and a time by which the row is due again, so a worker that dies or hangs loses its rows to another
by itself. Every later write is conditional on the token: who has lost the lease changes nothing. Time is the
database's.
"""

import threading
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from pipeline_backend.outbox.claims import ClaimQueries
from pipeline_backend.outbox.models import State
from pipeline_backend.outbox.results import ResultRow, ResultStatements
from pipeline_backend.outbox.retries import Result, next_state

MAX_CLAIMS = 5
BATCH_SIZE = 50

shutdown_requested = threading.Event()  # set when this process is asked to end: nothing is claimed any more


LEASE = """
UPDATE {table} SET lease_token = %s, claims = claims + 1, next_attempt_at = statement_timestamp() + %s * interval '1 second'
WHERE id = ANY(%s)
"""


@dataclass(frozen=True)
class Queue:
    """One kind of job: its model, what its jobs are grouped by (a receiver), and how a group's jobs are delivered.

    `session` opens whatever a group's deliveries share and gives a coroutine function from job to result. `read` adds
    what that function needs to the query of due jobs, `job` makes a job of what it answers. `record` is SQL (further
    members of the WITH of `SETTLE`) that notes results in the same statement, with the `columns` that `facts` makes;
    `after_failure` is called once a failure is written. `open` says which groups are served at all, `slow` which only
    by the slow lane, `only` which rows are of this queue; `slots` is how many workers may serve a group at a time.
    """

    model: type[Any]
    group: str
    group_model: type[Any]
    session: Callable[[Any], AbstractAsyncContextManager[Callable[[Any], Awaitable[Any]]]]
    open: Q
    read: Callable[[Any], Any]
    job: Callable[[Any], Any]
    slow: Q | None = None
    only: Q | None = None
    record: str = ""
    columns: str = ""
    facts: Callable[[Any, Any], ResultRow] | None = None
    after_failure: Callable[[Any, Any], None] | None = None
    slots: int = 2

    @property
    def rows(self) -> Any:
        """The jobs of this queue."""
        return self.model.unscoped.filter(self.only or Q())

    def groups(self, *, is_slow: bool) -> Any:
        """The groups of one lane that are served."""
        groups = self.group_model._base_manager.filter(self.open)
        if self.slow is None:
            return groups.none() if is_slow else groups
        return groups.filter(self.slow) if is_slow else groups.exclude(self.slow)

    def due(self, is_slow: bool = False) -> list[Any]:
        """The groups of one lane that have something to do now, the longest waiting first."""
        waiting = self.rows.filter(
            state=State.PENDING, next_attempt_at__lte=Now(), **{f"{self.group}__in": self.groups(is_slow=is_slow)}
        )
        oldest = waiting.order_by().values(self.group).annotate(since=models.Min("next_attempt_at")).order_by("since")
        return list(oldest.values_list(self.group, flat=True))

    def served(self, group_id: Any, is_slow: bool) -> Any:
        """The group, if that lane serves it."""
        return self.groups(is_slow=is_slow).filter(pk=group_id).first()

    @transaction.atomic
    def claim(self, group_id: Any, most: int = BATCH_SIZE) -> list[Any]:
        """Lease the group's oldest due jobs, replays last, unless all its slots are taken."""
        # One claim at a time for a group, so that its slots are counted right; the wait is as short as a claim.
        found = self.candidates
        if found.opened.first(group=group_id) is None or len(found.busy.all(group=group_id)) >= self.slots:
            return []
        fresh = found.oldest if most == 1 else found.fresh
        return lease(fresh.all(group=group_id) or self.suspect(group_id), self)

    @cached_property
    def candidates(self) -> ClaimQueries:
        """What can be claimed."""
        return ClaimQueries(self, BATCH_SIZE)

    def suspect(self, group_id: Any) -> list[Any]:
        """A row whose last lease ended without a result: it may have killed its worker, so it is taken alone.

        After five such leases it is left for people to see.
        """
        while rows := self.candidates.suspects.all(group=group_id):
            [job] = map(self.job, rows)
            if job.claim_count < MAX_CLAIMS:
                return rows
            mark_as_poison(job, self.model)
        return []

    def entry(self, job: Any, result: Result) -> ResultRow:
        """What is to be written of an attempt: done, due again, or dead."""
        facts = self.facts(job, result) if self.facts else {}
        return next_state(job, result) | {"id": job.pk, "token": job.lease_token, "error": result.error} | facts

    @cached_property
    def settlement(self) -> ResultStatements:
        """How results are written."""
        return ResultStatements(self.model._meta.db_table, self.columns, self.record)


def lease(rows: list[Any], queue: Queue) -> list[Any]:
    """Put a fresh token and an end on the rows; as jobs."""
    token, jobs = uuid.uuid4(), list(map(queue.job, rows))
    for job in jobs:
        job.lease_token = token
    if jobs:
        with connection.cursor() as cursor:
            cursor.execute(
                LEASE.format(table=queue.model._meta.db_table),
                [token, settings.DELIVERY_LEASE_SECONDS, [job.pk for job in jobs]],
            )
    return jobs


def mark_as_poison(job: Any, model: type[Any]) -> None:
    """A row that was claimed again and again without a result kills its workers: it is dead."""
    poison = model.unscoped.filter(pk=job.pk)
    poison.update(
        state=State.DEAD, last_error="worker_crash", next_attempt_at=None, lease_token=None, finished_at=Now()
    )


def release(model: type[Any], jobs: list[Any]) -> None:
    """Give leased jobs back untried, as far as they are still ours."""
    if jobs:
        leased = model.unscoped.filter(
            pk__in=[job.pk for job in jobs], lease_token=jobs[0].lease_token, state=State.PENDING
        )
        leased.update(lease_token=None, next_attempt_at=Now(), claim_count=F("claim_count") - 1)
