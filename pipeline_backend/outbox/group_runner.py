"""Runs a group: claims its due jobs in batches and sends them one after another."""

import logging
import time
from collections.abc import Sequence
from uuid import UUID

from asgiref.sync import async_to_sync
from django.conf import settings

from pipeline_backend.outbox.executor import CallerThread, Executor
from pipeline_backend.outbox.queue import BATCH_SIZE, Queue, Send, shutdown_requested
from pipeline_backend.outbox.results import ResultBatcher
from pipeline_backend.outbox.retries import ClaimedJob, Result

logger = logging.getLogger(__name__)

TIME_SLICE = 20


class GroupRunner:
    """Runs the groups of one queue in one event loop."""

    def __init__(self, queue: Queue, executor: Executor, writer: Executor) -> None:
        self.queue = queue
        self.executor = executor
        self.results = ResultBatcher(queue.statements, executor, writer)

    async def run_group(self, group_id: UUID, *, is_slow: bool = False) -> bool:
        """Send the group's due jobs for at most `TIME_SLICE` seconds. Return True if there may be more."""
        stop_at = time.monotonic() + TIME_SLICE
        group = await self.executor.run(self.queue.get_group, group_id, is_slow)
        if group is None:
            return False

        async with self.queue.open_session(group) as send:
            while time.monotonic() < stop_at and not shutdown_requested.is_set():
                claimed_at = time.monotonic()
                # In the slow lane one attempt is enough: if it succeeds, the group is back in the fast lane.
                jobs = await self.executor.run(self.queue.claim, group_id, 1 if is_slow else BATCH_SIZE)
                if not jobs:
                    return False
                if not await self.process_batch(jobs, send, claimed_at) or is_slow:
                    return True
                # A short batch was the last one, and new jobs send their own notification. A suspect is always claimed
                # alone, so behind it there may be more.
                if len(jobs) < BATCH_SIZE and not jobs[0].claim_count:
                    return False
        return True

    async def process_batch(self, jobs: Sequence[ClaimedJob], send: Send, claimed_at: float) -> bool:
        """Send the jobs one after another as long as the lease is safe, and release the rest.

        Return False if the group has to be looked up again, because a failure changed its lane or disabled it.
        """
        last_start = claimed_at + settings.DELIVERY_LEASE_SECONDS - 2 * settings.DELIVERY_DEADLINE_SECONDS
        for index, job in enumerate(jobs):
            if index and (time.monotonic() > last_start or shutdown_requested.is_set()):
                await self.executor.run(self.queue.release, jobs[index:])
                return True
            result = await send(job)
            if not await self.save_result(job, result) or await self.lane_changed(job, result):
                await self.executor.run(self.queue.release, jobs[index + 1 :])
                return False
        return True

    async def save_result(self, job: ClaimedJob, result: Result) -> bool:
        """Store the result of an attempt. Return False if the lease was lost."""
        is_ours = await self.results.save_result(self.queue.result_row(job, result))
        if not is_ours:
            logger.warning("The lease of %s was lost before its result was stored", job.pk)
        if is_ours and result.error and self.queue.after_failure:
            await self.executor.run(self.queue.after_failure, job, result)
        return is_ours

    async def lane_changed(self, job: ClaimedJob, result: Result) -> bool:
        """Return True if a failure moved the group to the slow lane or disabled it."""
        if not result.error:
            return False
        group_id = getattr(job, f"{self.queue.group_field}_id")
        return await self.executor.run(self.queue.get_group, group_id, False) is None


def run_group(queue: Queue, group_id: UUID, *, is_slow: bool = False) -> bool:
    """Run a group in this thread and wait until it is done. Return True if there may be more."""
    executor = CallerThread()
    runner = GroupRunner(queue, executor, executor)
    has_more: bool = async_to_sync(runner.run_group)(group_id, is_slow=is_slow)
    return has_more
