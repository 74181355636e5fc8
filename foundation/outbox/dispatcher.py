"""The dispatcher: one event loop per worker process that sends all due jobs.

One loop serves many groups, because a delivery is mostly waiting, and threads would spend more time on the
interpreter's lock than on sending (docs/decisions/0007).
"""

import asyncio
import contextlib
import logging
import resource
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar
from weakref import WeakValueDictionary

from asgiref.sync import async_to_sync
from django.db import Error

from foundation.outbox.queue import FAST, SLOW, GroupId, Lane, Queue
from foundation.outbox.runner import Database, Runner

logger = logging.getLogger(__name__)

THREADS = 16
LOOKUP_THREADS = 64
SHUTDOWN_TIMEOUT = 20
POLL_SECONDS = 3
OPEN_FILES = 4096  # connections to the receivers of all lanes, and a reserve; many systems allow 1,024 at first

GroupKey = tuple[Runner, GroupId]


class Dispatcher:
    current: ClassVar["Dispatcher | None"] = None  # the one that runs in this process

    def __init__(self, queues: list[Queue]) -> None:
        self.database = Database(THREADS)
        self.stopping = asyncio.Event()
        self.runners = {queue: Runner(queue, self.database, self.stopping) for queue in queues}
        # Each queue has places of its own, so that webhooks delay no e-mails, and each organization a share of them.
        self.places = {
            (runner, lane): asyncio.Semaphore(lane.concurrency)
            for runner in self.runners.values()
            for lane in (FAST, SLOW)
        }
        self.shares: WeakValueDictionary[tuple[Runner, Lane, GroupId], asyncio.Semaphore] = WeakValueDictionary()
        # The groups being run or waiting for their lane, and those to run once more afterwards.
        self.tasks: dict[GroupKey, asyncio.Task[None]] = {}
        self.waiting = Counter[tuple[Runner, Lane]]()  # how many wait for a place
        self.notified: set[GroupKey] = set()

    def start(self) -> None:
        """Start the loop. From now on `dispatch` in this process hands groups to it."""
        soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft_limit != resource.RLIM_INFINITY and soft_limit < OPEN_FILES:
            allowed = OPEN_FILES if hard_limit == resource.RLIM_INFINITY else min(OPEN_FILES, hard_limit)
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard_limit))
        self.loop = asyncio.new_event_loop()
        # Name lookups block a thread each, without a time-out; asyncio's default is six threads on two cores.
        self.loop.set_default_executor(ThreadPoolExecutor(LOOKUP_THREADS, "name-lookup"))
        run = self.loop.run_until_complete
        self.thread = threading.Thread(target=run, args=(self.run(),), name="outbox-dispatcher", daemon=True)
        self.thread.start()
        Dispatcher.current = self

    def close(self) -> None:
        """Claim nothing more, and let what is being sent finish."""
        self.loop.call_soon_threadsafe(self.stopping.set)

    def stop(self) -> None:
        """Close, and wait for what is being sent. What takes longer is due again when its lease ends."""
        self.close()
        self.thread.join(SHUTDOWN_TIMEOUT)
        if not self.thread.is_alive():
            self.loop.close()
            self.database.close()

    def notify(self, queue: Queue, group_id: GroupId) -> None:
        """Run the group, because it may have due jobs. Any thread may call this."""
        if queue in self.runners:
            self.loop.call_soon_threadsafe(self._on_notify, self.runners[queue], group_id)

    async def run(self) -> None:
        """Poll until stopped, then wait for what is running."""
        while not self.stopping.is_set():
            with log_errors("Polling for due jobs"):
                for runner, group_id, lane in await self.database.run(self.find_due_groups):
                    if not runner.notify(group_id):
                        self.schedule(runner, group_id, lane)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self.stopping.wait()
        while self.tasks:
            await asyncio.wait(self.tasks.values())

    def find_due_groups(self) -> list[tuple[Runner, GroupId, Lane]]:
        return [(runner, group_id, lane) for runner, lane in self.places for group_id in runner.queue.due_groups(lane)]

    def _on_notify(self, runner: Runner, group_id: GroupId) -> None:
        if not runner.notify(group_id):
            # The group's task may have just found that nothing is due.
            self.notified.add((runner, group_id))
            self.schedule(runner, group_id)

    def schedule(self, runner: Runner, group_id: GroupId, lane: Lane = FAST) -> None:
        """Start a task for the group unless it has one."""
        key = runner, group_id
        if key not in self.tasks and not self.stopping.is_set():
            self.notified.discard(key)
            self.tasks[key] = asyncio.create_task(self.run_group(runner, group_id, lane))

    async def run_group(self, runner: Runner, group_id: GroupId, lane: Lane) -> None:
        """Run the group when its organization has a place in the lane; repeat it, behind the others, if it has more."""
        has_more = False
        with log_errors("Running a group"):
            owner = await self.database.run(runner.queue.owner_of, group_id)
            share = self.shares.setdefault((runner, lane, owner), asyncio.Semaphore(lane.share))
            self.waiting[runner, lane] += 1
            async with share, self.places[runner, lane]:
                self.waiting[runner, lane] -= 1
                has_more = await runner.run_group(group_id, lane, lambda: self.waiting[runner, lane] > 0)
        del self.tasks[runner, group_id]
        # A slow group waits for the next poll, so that it can't take its lane from the others.
        if (runner, group_id) in self.notified or (has_more and lane is FAST):
            self.schedule(runner, group_id)


@contextlib.contextmanager
def log_errors(action: str) -> Iterator[None]:
    """Log any error. None may end the loop: nothing else in the process would send the jobs."""
    try:
        yield
    except Error as error:
        logger.warning("%s failed: database unreachable (%s)", action, type(error).__name__)
    except Exception:
        logger.exception("%s failed", action)


def dispatch(queue: Queue, group_id: GroupId) -> None:
    """Hand the group to this process's dispatcher, or run it here and now if there is none.

    While this worker shuts down, do nothing: the jobs stay due, and another worker finds them.
    """
    group_id = queue.group_model._meta.pk.to_python(group_id)
    dispatcher = Dispatcher.current
    if dispatcher and dispatcher.stopping.is_set():
        return
    # A forked child inherits the variable but not the thread.
    if dispatcher and dispatcher.thread.is_alive():
        dispatcher.notify(queue, group_id)
    else:
        run_group(queue, group_id)


def run_group(queue: Queue, group_id: GroupId, lane: Lane = FAST) -> None:
    """Run the group in this thread until this lane has no more to send; in the slow lane, once."""
    runner = Runner(queue, Database(), asyncio.Event())

    async def run() -> None:
        while await runner.run_group(group_id, lane) and lane is FAST:
            pass

    async_to_sync(run)()
