"""The dispatcher: one event loop per worker process that sends all due jobs.

It is notified of due jobs by messages, and looks for them itself once a second, so neither Redis nor beat can lose any.
One loop serves many receivers, because a delivery is mostly waiting, and threads would spend more time on the
interpreter's lock than on sending (docs/decisions/0007). The slow lane has its own concurrency limit, so that receivers
that hang never delay the others.
"""

import asyncio
import logging
import os
import threading
from uuid import UUID

from django.db import Error

from pipeline_backend.outbox.executor import ThreadPool
from pipeline_backend.outbox.group_runner import GroupRunner, run_group
from pipeline_backend.outbox.queue import Queue, shutdown_requested

logger = logging.getLogger(__name__)

POLL_INTERVAL = 1.0
FAST_CONCURRENCY = 64
SLOW_CONCURRENCY = 16
THREADS = 16
SHUTDOWN_TIMEOUT = 20


class Dispatcher:
    """Sends the due jobs of some queues until the process is asked to stop."""

    def __init__(self, queues: list[Queue]) -> None:
        # One writer thread per queue keeps its database session warm for the statement that stores results.
        self.executor, *writers = self.thread_pools = [ThreadPool(THREADS), *(ThreadPool(1) for _ in queues)]
        self.runners = [
            GroupRunner(queue, self.executor, writer) for queue, writer in zip(queues, writers, strict=True)
        ]
        self.lanes = {False: asyncio.Semaphore(FAST_CONCURRENCY), True: asyncio.Semaphore(SLOW_CONCURRENCY)}
        # The groups being run or waiting for their lane, and whether to run them once more afterwards.
        self.active_groups: dict[tuple[GroupRunner, UUID], bool] = {}
        self.tasks: set[asyncio.Task[None]] = set()  # the event loop itself keeps only weak references
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(
            target=self.loop.run_until_complete, args=(self.run(),), name="outbox-dispatcher", daemon=True
        )

    def start(self) -> None:
        """Start the loop. From now on `dispatch` in this process hands groups to it."""
        self.thread.start()
        running_dispatchers.append(self)

    def stop(self) -> None:
        """Wait for the jobs that were being sent when `shutdown_requested` was set."""
        running_dispatchers.remove(self)
        self.thread.join(SHUTDOWN_TIMEOUT)
        if self.thread.is_alive():
            return  # its remaining jobs are due again when the lease ends
        self.loop.close()
        for thread_pool in self.thread_pools:
            thread_pool.shutdown()

    def notify(self, queue: Queue, group_id: UUID | str) -> None:
        """Say that the group may have due jobs. Any thread may call this."""
        [runner] = [runner for runner in self.runners if runner.queue is queue]
        group = queue.group_model._meta.pk.to_python(group_id)
        self.loop.call_soon_threadsafe(self.on_notify, runner, group)

    async def run(self) -> None:
        """Poll until the process is asked to stop, then wait for what is running."""
        while not shutdown_requested.is_set():
            # No error may end this loop: nothing else in the process would send the jobs.
            try:
                await self.poll()
            except Error as error:
                logger.warning("Database unreachable (%s); polling again in a moment", type(error).__name__)
            except Exception:
                logger.exception("Polling for due jobs failed")
            await asyncio.sleep(POLL_INTERVAL)
        while self.tasks:
            await asyncio.wait(self.tasks)

    async def poll(self) -> None:
        """Schedule every group that has due jobs."""
        for runner in self.runners:
            for is_slow in self.lanes:
                for group_id in await self.executor.run(runner.queue.groups_with_due_jobs, is_slow):
                    self.schedule(runner, group_id, is_slow=is_slow)

    def on_notify(self, runner: GroupRunner, group_id: UUID) -> None:
        """Start the group, or mark it to run again: the current run may already have read its last batch."""
        if (runner, group_id) in self.active_groups:
            self.active_groups[runner, group_id] = True
        else:
            self.schedule(runner, group_id)

    def schedule(self, runner: GroupRunner, group_id: UUID, *, is_slow: bool = False) -> None:
        """Start a task for the group unless it has one."""
        if (runner, group_id) in self.active_groups or shutdown_requested.is_set():
            return
        self.active_groups[runner, group_id] = False
        task = self.loop.create_task(self.run_group(runner, group_id, is_slow))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def run_group(self, runner: GroupRunner, group_id: UUID, is_slow: bool) -> None:
        """Run the group when its lane has room, and schedule it again, behind the others that wait, if it has more."""
        has_more = False
        try:
            async with self.lanes[is_slow]:
                has_more = await runner.run_group(group_id, is_slow=is_slow)
        except Error as error:
            logger.warning(
                "Database unreachable (%s); the jobs are due again when the lease ends", type(error).__name__
            )
        except Exception:
            logger.exception("Running a group failed")
        was_notified = self.active_groups.pop((runner, group_id))
        # A slow group waits for the next poll, so that it can't take its lane from the others.
        if was_notified or (has_more and not is_slow):
            self.schedule(runner, group_id)


running_dispatchers: list[Dispatcher] = []  # of this process: none or one
os.register_at_fork(after_in_child=running_dispatchers.clear)  # a forked child doesn't have the thread


def dispatch(queue: Queue, group_id: UUID | str) -> bool:
    """Hand the group to this process's dispatcher, or run it here and now if there is none.

    Return True if there may be more to run.
    """
    for dispatcher in running_dispatchers:
        dispatcher.notify(queue, group_id)
        return False
    return run_group(queue, queue.group_model._meta.pk.to_python(group_id))
