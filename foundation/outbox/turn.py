"""A turn of a group: its senders share a batch of leased jobs, and a sender that has none left claims more.

So one slow answer delays nothing but its own job. If other groups wait for a place, a turn ends with its first batch:
until the last job of that is answered, the other senders go on, because the place is taken anyway.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from foundation.outbox.models import Job
from foundation.outbox.queue import FAST, Batch, Lane

if TYPE_CHECKING:
    from foundation.outbox.runner import Runner


class Turn:
    """Sends a batch's jobs, several at once, as long as the lease is safe.

    After a failure they are sent one by one, or not at all if the group may get no more. What is not sent is released.
    All batches of a turn have the same token, so that they count as one worker's lease.
    """

    def __init__(
        self, runner: "Runner", lane: Lane, batch: Batch, session: object, others_wait: Callable[[], bool]
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
        """Send a job and store the result."""
        self.in_flight[job.pk] = job
        started = time.monotonic()
        result = await self.queue.send(self.session, self.batch.group, job)
        state = await self.runner.finish(self.batch, job, result, time.monotonic() - started)
        del self.in_flight[job.pk]
        if state is None:
            self.width = 0
        elif result.error:
            self.may_grow = False
            may_continue = await self.runner.database.run(self.queue.after_failure, job, result)
            self.width = min(self.width, 1) if may_continue else 0
