"""Queues: which jobs there are, which groups may be served, and how jobs are claimed, leased and released.

A worker claims due rows in a short transaction and commits before it touches the network. A lease is a fresh token and
a due time in the future, so the jobs of a worker that dies or hangs are simply due again (docs/decisions/0003). Every
later write is conditional on the token. All times are the database's, because workers' clocks may differ.
"""

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, cached_property
from typing import Any, ClassVar, Generic, TypeVar
from uuid import UUID

import orjson
from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils.module_loading import import_string

from foundation.db.compiled import CompiledQuery, Param
from foundation.metrics.definitions import LIMITS_EXCEEDED
from foundation.outbox.models import SAVE_RESULTS, Job, Result, ResultRow, State

MAX_CLAIMS = 5
WORKERS_PER_GROUP = 2

# The steps of a claim.
LOCK_GROUP, OTHER_LEASES, LOCK_JOBS, LOCK_SUSPECT = "group", "leases", "jobs", "suspect"
NO_LEASE = UUID(int=0)
START_LEASES = """
UPDATE {table}
SET lease_token = %s,
    claims = claims + 1,
    next_attempt_at = statement_timestamp() + %s * interval '1 second'
WHERE id = ANY (%s)
"""

GroupId = UUID | str
Group = TypeVar("Group", bound=models.Model)
ClaimedJob = TypeVar("ClaimedJob", bound=Job)
Session = TypeVar("Session")  # what the jobs of a batch share, such as connections


@dataclass(frozen=True)
class Lane:
    """How many groups a dispatcher serves at once in this lane, and how many jobs of a group it claims at once."""

    name: str
    concurrency: int
    batch: int

    @property
    def share(self) -> int:
        """How many of the groups may belong to one organization."""
        return self.concurrency // 8


# Most receivers have one or two jobs at a time, so a worker waits for far fewer answers than 8 for each place.
FAST = Lane("fast", concurrency=128, batch=50)
# For groups that keep answering slowly or not at all: after one attempt the group is looked at again.
SLOW = Lane("slow", concurrency=16, batch=1)


class Limit(ABC, Generic[Group]):
    """A limit on how many jobs are sent in a period, which several groups may share. The claim has locked the group."""

    # The group's column that says until when none of its jobs are claimed; null if it is not paused.
    pause_field: str

    @abstractmethod
    def take(self, group: Group, count: int) -> int:
        """Count as many jobs of the group as the limit allows, and return how many. If not all, pause the group."""

    @abstractmethod
    def give_back(self, group: Group, count: int) -> None:
        """Subtract jobs of the group that were counted and not sent."""


@dataclass
class Batch(Generic[Group, ClaimedJob]):
    """Jobs of one group, leased under one token."""

    group: Group
    jobs: list[ClaimedJob]
    token: UUID
    # Seconds of `time.monotonic()`: a job that starts later could take longer than the lease.
    start_before: float
    has_more: bool  # more may be due


class Queue(ABC, Generic[Group, ClaimedJob, Session]):
    """One kind of job: its table, how its jobs are grouped by receiver, and how a group's jobs are sent."""

    name: ClassVar[str]  # in metrics
    label: ClassVar[str]  # what the health check calls the jobs
    model: ClassVar[type[Any]]
    # The foreign key to the receiver, and its model. The jobs of a group share connections, a lane and its limits.
    group_field: ClassVar[str]
    group_model: ClassVar[type[models.Model]]
    related: ClassVar[tuple[str, ...]]  # the rows that sending a job needs, as in `select_related`
    enabled: ClassVar[Q] = Q()  # the groups that may be served at all
    slow: ClassVar[Q] = Q(pk__in=[])  # the groups that only the slow lane serves
    limit: ClassVar[Limit | None] = None
    # SQL that is added to the statement that stores results: CTEs after `updated`, and the input columns they read.
    result_ctes: ClassVar[str] = ""
    result_columns: ClassVar[str] = ""

    @cached_property
    def queries(self) -> dict[tuple[str, Lane], CompiledQuery[Any]]:
        return {}

    @abstractmethod
    def open_session(self, group: Group) -> AbstractAsyncContextManager[Session]:
        """Return what a batch's jobs share, such as connections, open within the context."""

    @abstractmethod
    async def send(self, session: Session, group: Group, job: ClaimedJob) -> Result:
        """Send a job and return how it went. Several calls may run at once."""

    def owner_of(self, group_id: GroupId) -> GroupId:
        """Return the id of the group's owner; an owner's groups share places in a lane. May query the database."""
        return group_id

    def requests_at_once(self, group: Group) -> int:
        """Return how many jobs of the group one worker may send at the same time."""
        return 1

    def select_jobs(self, due: QuerySet) -> QuerySet:
        """Return the query with what `send` needs of each row. It is compiled once."""
        return due.select_related(*self.related)

    def complete_jobs(self, jobs: list[Any]) -> list[ClaimedJob]:
        """Read what the query can't, and return the jobs to send now. Called in the transaction of the claim."""
        return jobs

    def is_same_receiver(self, before: Group, after: Group) -> bool:
        """Return whether a session that was opened for the group as it was before may still be used."""
        return False

    def leaves_memory(self, in_flight: Iterable[ClaimedJob]) -> bool:
        """Return whether a worker may claim more of a group while it is sending these jobs."""
        return True

    def is_cut(self, jobs: list[ClaimedJob]) -> bool:
        """Return whether `complete_jobs` has left out some jobs, because they are too large to be sent together."""
        return False

    def result_values(self, job: ClaimedJob, result: Result) -> ResultRow:
        """Return the values of `result_columns` for an attempt."""
        return {}

    def log_values(self, job: ClaimedJob) -> dict[str, object]:
        """Return what an attempt's log line says about the job: ids and types, no personal data."""
        return {"organization": getattr(job, "organization_id", None)}

    def after_failure(self, job: ClaimedJob, result: Result) -> bool:
        """Do what follows from a failure that is stored. Return whether this lane may send more of the group's jobs."""
        return True

    @property
    def rows(self) -> QuerySet:
        return self.model.unscoped.all()

    def groups(self, lane: Lane = FAST) -> QuerySet:
        groups = self.group_model._base_manager.filter(self.enabled)
        return groups.filter(self.slow) if lane is SLOW else groups.exclude(self.slow)

    def paused_since(self, age: timedelta = timedelta()) -> Q:
        """Return the condition for groups that are paused, or whose pause ended less than `age` ago."""
        return Q(**{f"{self.limit.pause_field}__gt": Now() - age}) if self.limit else Q(pk__in=[])

    def due_jobs(self, lane: Lane = FAST) -> QuerySet:
        """Return the jobs of one lane that are due, and whose group is not paused."""
        groups = self.groups(lane).exclude(self.paused_since())
        due = self.rows.filter(state=State.PENDING, next_attempt_at__lte=Now())
        return due.filter(**{f"{self.group_field}__in": groups}).order_by()

    def due_groups(self, lane: Lane = FAST) -> list[GroupId]:
        """Return the groups that have due jobs, longest waiting first."""
        waiting = self.due_jobs(lane).values_list(self.group_field, flat=True)
        return list(waiting.annotate(due_since=models.Min("next_attempt_at")).order_by("due_since"))

    @transaction.atomic
    def claim(self, group_id: GroupId, lane: Lane = FAST, lease: UUID | None = None) -> Batch[Group, ClaimedJob] | None:
        """Lease the group's oldest due jobs, replays last, as far as its limit allows.

        `lease` is the token of a turn that claims more; what may kill workers is left out then, as it is sent alone.
        Return None if none is due, if enough workers serve the group, if it is paused or belongs to the other lane.
        Locks the group, then its jobs.
        """
        start_before = time.monotonic() + settings.DELIVERY_LEASE_SECONDS - 2 * settings.DELIVERY_DEADLINE_SECONDS
        # The lock makes concurrent claims take turns; otherwise two could both count one worker too few.
        group = self.compiled(LOCK_GROUP, lane).first(group=group_id)
        if group is None:
            return None
        leases = self.compiled(OTHER_LEASES, lane).all(group=group_id, lease=lease or NO_LEASE)
        if len(leases) >= WORKERS_PER_GROUP:
            return None
        jobs = self.lock_due_jobs(group_id, lane, with_suspects=not lease)
        if jobs and self.limit:
            allowed = self.limit.take(group, len(jobs))
            if allowed < len(jobs):
                LIMITS_EXCEEDED.labels(self.name).inc()
            jobs = jobs[:allowed]
        if not jobs:
            return None
        token = lease or uuid.uuid4()
        with connection.cursor() as cursor:
            seconds, ids = settings.DELIVERY_LEASE_SECONDS, [job.pk for job in jobs]
            cursor.execute(START_LEASES.format(table=self.model._meta.db_table), [token, seconds, ids])
        # Behind a suspect, which is claimed alone, there may be more.
        return Batch(
            group,
            jobs,
            token,
            start_before,
            has_more=len(jobs) == lane.batch or jobs[0].claim_count > 0 or self.is_cut(jobs),
        )

    def lock_due_jobs(self, group_id: GroupId, lane: Lane, *, with_suspects: bool) -> list[ClaimedJob]:
        """Return due jobs of a group that no other worker is claiming, locked: a batch, or a single suspect.

        A suspect's last lease ended without a result, so it may be what kills workers. After `MAX_CLAIMS` leases it is
        dead.
        """
        jobs = self.complete_jobs(self.compiled(LOCK_JOBS, lane).all(group=group_id))
        if jobs or not with_suspects:
            return jobs
        suspects = self.complete_jobs(self.compiled(LOCK_SUSPECT, lane).all(group=group_id))
        if suspects and suspects[0].claim_count >= MAX_CLAIMS:
            dead = {"state": State.DEAD, "next_attempt_at": None, "lease_token": None, "finished_at": Now()}
            due = self.pending(group_id).filter(next_attempt_at__lte=Now(), claim_count__gte=MAX_CLAIMS)
            due.update(**dead, last_error="worker_crash")
            return []
        return suspects

    def pending(self, group_id: GroupId | Param) -> QuerySet:
        return self.rows.filter(**{self.group_field: group_id}, state=State.PENDING)

    def compiled(self, step: str, lane: Lane) -> CompiledQuery[Any]:
        """Return a query of the claim. Compiling them takes longer than running them.

        They are compiled for the benchmark row of receivers that take 0.3 s: each claim there has three jobs.
        """
        if (step, lane) not in self.queries:
            self.queries[step, lane] = CompiledQuery(lambda: self.claim_query(step, lane))
        return self.queries[step, lane]

    def claim_query(self, step: str, lane: Lane) -> QuerySet:
        if step == LOCK_GROUP:
            groups = self.groups(lane).exclude(self.paused_since()).select_for_update(no_key=True, of=("self",))
            return groups.filter(pk=Param("group"))
        pending = self.pending(Param("group"))
        if step == OTHER_LEASES:
            leased = pending.filter(lease_token__isnull=False, next_attempt_at__gt=Now())
            others = leased.exclude(lease_token=Param("lease", "uuid"))
            # Without order_by() the model's default order would join in the DISTINCT, and give rows instead of leases.
            return others.order_by().values_list("lease_token").distinct()[:WORKERS_PER_GROUP]
        due = pending.filter(next_attempt_at__lte=Now()).select_for_update(skip_locked=True, of=("self",))
        rows = due.order_by("claim_count", "next_attempt_at", "pk")[:1]
        if step == LOCK_JOBS:
            rows = due.filter(claim_count=0).order_by("is_replay", "next_attempt_at", "pk")[: lane.batch]
        return self.select_jobs(rows)

    @transaction.atomic
    def release(self, batch: Batch[Group, ClaimedJob], unsent: Sequence[ClaimedJob]) -> None:
        """Release jobs of the batch that were not sent, if the lease is still ours. Locks the group, then the jobs."""
        # Giving back may lock the group. Locked after its jobs, it could deadlock with one that locks it first.
        self.group_model._base_manager.select_for_update(no_key=True).filter(pk=batch.group.pk).first()
        ours = self.model.unscoped.filter(
            pk__in=[job.pk for job in unsent], lease_token=batch.token, state=State.PENDING
        )
        # The claim is taken back too: it does not make a job suspect.
        released = ours.update(lease_token=None, next_attempt_at=Now(), claim_count=F("claim_count") - 1)
        if released and self.limit:
            self.limit.give_back(batch.group, released)

    def save_results(self, rows: list[ResultRow], *, wait: bool) -> set[UUID]:
        """Store results and return the ids of the jobs that were updated: those whose lease is still ours.

        With `wait`, for a single result, the statement waits for a locked row and also records an attempt whose lease
        is lost. Without, for many, it skips both: another client's long transaction then delays no other receiver.
        """
        lock_clause, join = ("", "LEFT JOIN") if wait else ("SKIP LOCKED", "JOIN")
        ctes = self.result_ctes.format(lock_clause=lock_clause, join=join)
        names = {"table": self.model._meta.db_table, "columns": self.result_columns, "lock_clause": lock_clause}
        with connection.cursor() as cursor:
            cursor.execute(SAVE_RESULTS.format(**names, ctes=ctes), [orjson.dumps(rows).decode()])
            return {id for (id,) in cursor.fetchall()}


@cache
def load_queues() -> list[Queue]:
    """Return all queues of the service, which the setting OUTBOX_QUEUES names."""
    return [import_string(path) for path in settings.OUTBOX_QUEUES]
