"""Turns: what is due for one group is claimed in batches and delivered, one job after another."""

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings

from pipeline_backend.outbox.executor import CallerThread, Executor
from pipeline_backend.outbox.queue import BATCH_SIZE, Queue, release, shutdown_requested
from pipeline_backend.outbox.results import ResultBatcher
from pipeline_backend.outbox.retries import Result

logger = logging.getLogger(__name__)

TIME_SLICE = 20


class GroupRunner:
    """What one event loop does for one queue."""

    def __init__(self, queue: Queue, desk: Executor, writer: Executor) -> None:
        self.queue = queue
        self.desk = desk
        self.together = ResultBatcher(queue.settlement, desk, writer)

    async def drain(self, group_id: Any, *, is_slow: bool = False) -> bool:
        """Deliver what is due for one group, for at most a turn; True if there may be more.

        In the slow lane a turn is a single attempt: one that succeeds brings the group back.
        """
        until = time.monotonic() + TIME_SLICE
        group = await self.desk.ask(self.queue.served, group_id, is_slow)
        if group is None:
            return False
        async with self.queue.session(group) as deliver:
            while time.monotonic() < until and not shutdown_requested.is_set():
                claimed_at = time.monotonic()
                jobs = await self.desk.ask(self.queue.claim, group_id, 1 if is_slow else BATCH_SIZE)
                if not jobs:
                    return False
                if not await self.work_off(jobs, deliver, claimed_at) or is_slow:
                    return True
                if len(jobs) < BATCH_SIZE and not jobs[0].claim_count:
                    return False  # that was all; what comes later rings for itself
        return True

    async def work_off(self, jobs: list[Any], deliver: Callable[[Any], Awaitable[Result]], claimed_at: float) -> bool:
        """Deliver the jobs one after another while the lease surely lasts; give the rest back.

        False if the group should be looked at anew: a failure may have changed its lane, or its end.
        """
        last_start = claimed_at + settings.DELIVERY_LEASE_SECONDS - 2 * settings.DELIVERY_DEADLINE_SECONDS
        for index, job in enumerate(jobs):
            if index and (time.monotonic() > last_start or shutdown_requested.is_set()):
                await self.desk.ask(release, self.queue.model, jobs[index:])
                return True
            result = await deliver(job)
            if not await self.settle(job, result) or await self.has_left_its_lane(job, result):
                await self.desk.ask(release, self.queue.model, jobs[index + 1 :])
                return False
        return True

    async def settle(self, job: Any, result: Result) -> bool:
        """Write what came of the attempt. False if the lease was lost."""
        is_ours = await self.together.settle(self.queue.entry(job, result))
        if not is_ours:
            logger.warning("the lease of %s was lost before its result was written", job.pk)
        if is_ours and result.error and self.queue.after_failure:
            await self.desk.ask(self.queue.after_failure, job, result)
        return is_ours

    async def has_left_its_lane(self, job: Any, result: Result) -> bool:
        """True if a failure has slowed the group down, or ended it."""
        if not result.error:
            return False
        return await self.desk.ask(self.queue.served, getattr(job, f"{self.queue.group}_id"), False) is None


def run_group(queue: Queue, group_id: Any, *, is_slow: bool = False) -> bool:
    """A turn in this thread, which waits for its end."""
    desk = CallerThread()
    has_more: bool = async_to_sync(GroupRunner(queue, desk, desk).drain)(group_id, is_slow=is_slow)
    return has_more
