"""Sends the jobs of one group: claims them in batches, sends several at once, and stores their results.

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
        self.unsaved: list[ResultRow] = []  # results for the next statement
        self.next_save: asyncio.Task[set[UUID]] | None = None
        self.saving = asyncio.Lock()

    async def run_group(self, group_id: GroupId, lane: Lane = FAST) -> bool:
        """Claim a batch of the group's due jobs and send them. Return True if there may be more."""
        batch = await self.database.run(self.queue.claim, group_id, lane)
        if batch is None:
            return False
        now = timezone.now()
        for job in batch.jobs:
            # By this computer's clock, which can differ from the database's.
            delay = (now - job.next_attempt_at).total_seconds() if job.next_attempt_at else 0
            CLAIM_DELAY_SECONDS.labels(self.queue.name).observe(max(0, delay))
        async with self.queue.open_session(batch.group) as session:
            unsent = await self.send_batch(batch, session)
        return batch.has_more or unsent

    async def send_batch(self, batch: Batch, session: object) -> bool:
        """Send the batch's jobs, several at once, as long as the lease is safe. Return True if any were not sent.

        After a failure they are sent one by one, or not at all if the group may get no more. What is not sent is
        released.
        """
        waiting = deque(batch.jobs)
        width = min(self.queue.requests_at_once(batch.group), len(waiting))

        async def send_in_turn(number: int) -> None:
            nonlocal width
            while waiting and number < width and not self.stopping.is_set():
                # The first is sent in any case, so that each claim leads to an attempt.
                if time.monotonic() > batch.start_before and len(waiting) < len(batch.jobs):
                    return
                job = waiting.popleft()
                started = time.monotonic()
                result = await self.queue.send(session, batch.group, job)
                seconds = time.monotonic() - started
                self.log(job, result, seconds)
                state = await self.save(batch, job, result)
                DELIVERY_ATTEMPTS.labels(self.queue.name, OUTCOMES.get(state, "lease_lost")).inc()
                DELIVERY_SECONDS.labels(self.queue.name).observe(seconds)
                if state is None:
                    width = 0
                elif result.error:
                    may_continue = await self.database.run(self.queue.after_failure, job, result)
                    width = min(width, 1) if may_continue else 0

        senders = [send_in_turn(number) for number in range(width)]
        errors = [error for error in await asyncio.gather(*senders, return_exceptions=True) if error]
        if waiting:
            await self.database.run(self.queue.release, batch, list(waiting))
        if errors:
            raise errors[0]
        return bool(waiting)

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
