"""Runs the groups of a queue: claims their jobs in batches, has each group's turn send them, and stores the results.

Results of many groups are stored in one statement: while one runs, the results for the next one collect. A connection
sends its next job only when its last result is stored (docs/decisions/0006).
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import DEFAULT_DB_ALIAS, Error, close_old_connections, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.utils import timezone

from foundation.metrics.definitions import CLAIM_DELAY_SECONDS, DELIVERY_ATTEMPTS, DELIVERY_SECONDS
from foundation.outbox.models import Job, Result, ResultRow, State
from foundation.outbox.queue import FAST, Batch, GroupId, Lane, Queue

P = ParamSpec("P")
T = TypeVar("T")
# Of an attempt, in metrics, by the state that it leaves the job in.
OUTCOMES: dict[str | None, str] = {State.DONE: "delivered", State.PENDING: "failed", State.DEAD: "dead"}
logger = logging.getLogger(__name__)
delivery_logger = logging.getLogger("pipeline_backend.deliveries")


class Database:
    """Runs functions that query the database without blocking the event loop, in threads with a connection each.

    If `thread_count` is 0, they run in the thread that waits in `async_to_sync`, on its connection.
    """

    def __init__(self, thread_count: int = 0) -> None:
        self.connections: list[BaseDatabaseWrapper] = []
        self.executor = None
        if thread_count:
            self.executor = ThreadPoolExecutor(thread_count, "outbox-database", initializer=self._init_thread)
        self._run = sync_to_async(with_fresh_connection, thread_sensitive=not thread_count, executor=self.executor)

    def _init_thread(self) -> None:
        # Remembered here, because a thread's connection can't be reached from another thread.
        self.connections.append(connections[DEFAULT_DB_ALIAS])

    async def run(self, func: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(func, *args, **kwargs)

    def close(self) -> None:
        if self.executor:
            self.executor.shutdown()
        for thread_connection in self.connections:
            thread_connection.inc_thread_sharing()  # its own thread has ended, so this one may close it
            thread_connection.close()


def with_fresh_connection(func: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call `func` after dropping stale connections; drop the connection if it fails. Not within a transaction."""
    if connection.in_atomic_block:
        return func(*args, **kwargs)
    close_old_connections()
    try:
        return func(*args, **kwargs)
    except Error:
        # After a failover the old connection may lead to a server that is read-only now; a new one would not.
        connection.close()
        raise


class Runner:
    """Runs the groups of one queue in one event loop, until `stopping` is set."""

    def __init__(self, queue: Queue, database: Database, stopping: asyncio.Event) -> None:
        self.queue = queue
        self.database = database
        self.stopping = stopping
        self.turns: dict[GroupId, Turn] = {}
        self.unsaved: list[ResultRow] = []  # results for the next statement
        self.next_save: asyncio.Task[set[UUID]] | None = None
        self.saving = asyncio.Lock()

    async def run_group(
        self, group_id: GroupId, lane: Lane = FAST, others_wait: Callable[[], bool] = lambda: False
    ) -> bool:
        """Claim a batch of the group's due jobs and send them. Return True if there may be more.

        `others_wait` returns whether other groups wait for this one's place; otherwise the turn goes on.
        """
        batch = await self.claim(group_id, lane)
        if batch is None:
            return False
        try:
            async with self.queue.open_session(batch.group) as session:
                turn = self.turns[group_id] = Turn(self, lane, batch, session, others_wait)
                await turn.run()
            return turn.has_more
        finally:
            self.turns.pop(group_id, None)

    def notify(self, group_id: GroupId) -> bool:
        """Tell the group's turn that more jobs may be due. Return False if it has none that is followed by another."""
        turn = self.turns.get(group_id)
        if turn is None or turn.lane is not FAST:
            return False
        turn.notify()
        return True

    async def claim(self, group_id: GroupId, lane: Lane, lease: UUID | None = None) -> Batch | None:
        batch = await self.database.run(self.queue.claim, group_id, lane, lease=lease)
        now = timezone.now()
        for job in batch.jobs if batch else []:
            # By this computer's clock, which can differ from the database's.
            delay = (now - job.next_attempt_at).total_seconds() if job.next_attempt_at else 0
            CLAIM_DELAY_SECONDS.labels(self.queue.name).observe(max(0, delay))
        return batch

    async def finish(self, batch: Batch, job: Job, result: Result, seconds: float) -> str | None:
        """Log, store and count an attempt. Return the job's state when it is stored, or None if the lease was lost."""
        self.log(job, result, seconds)
        state = await self.save(batch, job, result)
        DELIVERY_ATTEMPTS.labels(self.queue.name, OUTCOMES.get(state, "lease_lost")).inc()
        DELIVERY_SECONDS.labels(self.queue.name).observe(seconds)
        return state

    def log(self, job: Job, result: Result, seconds: float) -> None:
        """Log an attempt: each one with `LOG_FORMAT=json`, otherwise those that failed."""
        level = logging.WARNING if result.error else logging.INFO
        if delivery_logger.isEnabledFor(level):
            fields = {
                "queue": self.queue.label,
                **self.queue.log_values(job),
                "attempt": job.attempt_count + 1,
                "status": result.status_code,
                "error": result.error,
                "duration_ms": round(seconds * 1000, 1),
            }
            delivery_logger.log(level, "delivery", extra={"fields": fields})

    async def save(self, batch: Batch, job: Job, result: Result) -> str | None:
        """Store the result of an attempt. Return the job's state when it is stored, or None if the lease was lost."""
        row: ResultRow = {"id": job.pk, "token": batch.token, "error": result.error}
        row |= result.next_state(job.attempt_count) | self.queue.result_values(job, result)
        # Failures are stored one by one, so that a group's consecutive failures are counted in order. So is a result
        # whose row was locked, and one whose lease was lost.
        is_saved = not result.error and await self.save_with_others(row)
        if not is_saved and not await self.database.run(self.queue.save_results, [row], wait=True):
            logger.warning("The lease of %s was lost before its result was stored", job.pk)
            return None
        return str(row["state"])

    async def save_with_others(self, row: ResultRow) -> bool:
        """Store a result in the next statement. Return False if that didn't store it."""
        self.unsaved.append(row)
        if self.next_save is None:
            self.next_save = asyncio.create_task(self.save_next())
        return row["id"] in await self.next_save

    async def save_next(self) -> set[UUID]:
        """Store all results that have collected while the previous statement ran. Return the ids of those stored."""
        async with self.saving:
            rows, self.unsaved, self.next_save = self.unsaved, [], None
            try:
                return await self.database.run(self.queue.save_results, rows, wait=False)
            except Exception:
                return set()  # each is stored by itself next, and raises there if it fails again


class Turn:
    """Sends a batch's jobs, several at once, as long as the lease is safe; a free sender claims more.

    So a slow answer delays only its own job. If other groups wait for a place, a turn ends with its first batch: until
    the last job of that is answered, the other senders go on, because the place is taken anyway.

    After a failure they are sent one by one, or not at all if the group may get no more. What is not sent is released.
    All batches of a turn have the same token, so that they count as one worker's lease.
    """

    def __init__(
        self, runner: Runner, lane: Lane, batch: Batch, session: object, others_wait: Callable[[], bool]
    ) -> None:
        self.runner, self.queue, self.lane = runner, runner.queue, lane
        self.session, self.others_wait = session, others_wait
        self.batch = batch  # the latest
        self.waiting = deque(batch.jobs)
        self.first_jobs = {job.pk for job in batch.jobs}
        self.in_flight: dict[object, Job] = {}  # the jobs that are being sent, by their id
        self.width = self.queue.requests_at_once(batch.group)
        # What may kill workers is sent by itself, and a group in the slow lane gets one attempt at a time.
        self.may_grow = lane is FAST and self.width > 1 and not batch.jobs[0].claim_count
        self.has_more = batch.has_more
        self.is_claiming = False
        self.senders: set[asyncio.Task[None]] = set()
        self.errors: list[Exception] = []

    async def run(self) -> None:
        self.start_senders(len(self.waiting))
        while self.senders:
            await asyncio.wait(self.senders)
        if self.waiting:
            self.has_more = True
            await self.runner.database.run(self.queue.release, self.batch, list(self.waiting))
        if self.errors:
            raise self.errors[0]

    def notify(self) -> None:
        """Take note that more jobs may be due, and claim them if a sender is free."""
        self.has_more = True
        if self.senders and not self.waiting and self.may_claim():
            self.start_senders(1)

    def start_senders(self, count: int) -> None:
        """Start senders for so many jobs, as far as the group may have them."""
        for _ in range(min(count, self.width - len(self.senders))):
            self.senders.add(asyncio.create_task(self.send_in_turn()))

    async def send_in_turn(self) -> None:
        try:
            # After a failure there are more senders than the group may have; those that are free end.
            while len(self.senders) <= self.width and not self.runner.stopping.is_set():
                if not self.waiting and not await self.claim_more():
                    return
                # The first is sent in any case, so that each claim leads to an attempt.
                if time.monotonic() > self.batch.start_before and len(self.waiting) < len(self.batch.jobs):
                    return
                await self.send(self.waiting.popleft())
        except Exception as error:  # raised when the others have ended
            self.errors.append(error)
            self.may_grow = False
        finally:
            self.senders.remove(asyncio.current_task())  # type: ignore[arg-type]

    def may_claim(self) -> bool:
        """Return whether a free sender may claim more now."""
        is_first_batch_in_flight = not self.first_jobs.isdisjoint(self.in_flight)
        return (
            self.may_grow
            and self.has_more
            and not self.is_claiming
            and (is_first_batch_in_flight or not self.others_wait())
            and self.queue.leaves_memory(self.in_flight.values())
        )

    async def claim_more(self) -> bool:
        """Claim a batch more if the turn may have one, and start senders for it. Return whether a job is waiting."""
        if not self.may_claim():
            return False
        self.is_claiming, self.has_more = True, False  # a notification that comes meanwhile counts
        try:
            batch = await self.runner.claim(self.batch.group.pk, self.lane, self.batch.token)
        finally:
            self.is_claiming = False
        if batch is None:
            return False
        self.has_more |= batch.has_more
        is_same_receiver = self.queue.is_same_receiver(self.batch.group, batch.group)
        self.batch, self.waiting = batch, deque(batch.jobs)
        self.width = min(self.width, self.queue.requests_at_once(batch.group)) if is_same_receiver else 0
        self.start_senders(len(self.waiting) - 1)
        return self.width > 0

    async def send(self, job: Job) -> None:
        """Send a job and store the result. An unexpected exception is a failed attempt, so that the lease ends."""
        self.in_flight[job.pk] = job
        started = time.monotonic()
        try:
            result = await self.queue.send(self.session, self.batch.group, job)
        except Exception:
            logger.exception("Sending %s failed", job.pk)
            result = Result(error="internal_error")
        state = await self.runner.finish(self.batch, job, result, time.monotonic() - started)
        del self.in_flight[job.pk]
        if state is None:
            self.width = 0
        elif result.error:
            self.may_grow = False
            may_continue = await self.runner.database.run(self.queue.after_failure, job, result)
            self.width = min(self.width, 1) if may_continue else 0
