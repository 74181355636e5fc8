"""The courier: one event loop in each worker process that delivers everything, whoever told of it.

Doorbells tell what is due; once a second it looks for itself, so that neither Redis nor beat can lose anything. One loop
serves many receivers: a delivery is mostly waiting, and threads would spend more on handing Python's lock to each other
than on delivering (`docs/decisions/0007`). The slow lane has places of its own, so that receivers that hang never hold
up the others.
"""

import asyncio
import logging
import os
import threading
from typing import Any

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
    """Delivers what is due of some queues, until the process is asked to end."""

    def __init__(self, queues: list[Queue]) -> None:
        self.desk, *writers = self.threads = [ThreadPool(THREADS), *(ThreadPool(1) for _ in queues)]
        self.turns = [GroupRunner(queue, self.desk, writer) for queue, writer in zip(queues, writers, strict=True)]
        self.places = {False: asyncio.Semaphore(FAST_CONCURRENCY), True: asyncio.Semaphore(SLOW_CONCURRENCY)}
        self.in_hand: dict[
            tuple[GroupRunner, Any], bool
        ] = {}  # the groups, and whether somebody has rung for them meanwhile
        self.under_way: set[asyncio.Task[None]] = set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(
            target=self.loop.run_until_complete, args=(self.run(),), name="courier", daemon=True
        )

    def start(self) -> None:
        """Begin; from now on this process's rings are for it."""
        self.thread.start()
        running_dispatchers.append(self)

    def end(self) -> None:
        """Wait until what was under way when `outbox.stopping` was set is finished; nothing more is claimed."""
        running_dispatchers.remove(self)
        self.thread.join(SHUTDOWN_TIMEOUT)
        if self.thread.is_alive():
            return  # what it still holds is due again when its lease ends
        self.loop.close()
        for threads in self.threads:
            threads.end()

    def ring(self, queue: Queue, group_id: Any) -> None:
        """There may be something to do for this group; from any thread."""
        [turns] = [turns for turns in self.turns if turns.queue is queue]
        group = queue.group_model._meta.pk.to_python(group_id)
        self.loop.call_soon_threadsafe(self.hear, turns, group)

    async def run(self) -> None:
        """Look until told to stop. Whatever fails, the loop goes on: nobody else delivers in this process."""
        while not shutdown_requested.is_set():
            try:
                await self.look()
            except Error as error:
                logger.warning("the database is away (%s); looking again in a moment", type(error).__name__)
            except Exception:
                logger.exception("a look failed")
            await asyncio.sleep(POLL_INTERVAL)
        while self.under_way:
            await asyncio.wait(self.under_way)

    async def look(self) -> None:
        """Begin a turn for every group that has something due."""
        for turns in self.turns:
            for is_slow in self.places:
                for group in await self.desk.ask(turns.queue.due, is_slow):
                    self.take(turns, group, is_slow=is_slow)

    def hear(self, turns: GroupRunner, group: Any) -> None:
        """Begin a turn, or another one when the present one ends: it may have looked already."""
        if (turns, group) in self.in_hand:
            self.in_hand[turns, group] = True
        else:
            self.take(turns, group)

    def take(self, turns: GroupRunner, group: Any, *, is_slow: bool = False) -> None:
        """Begin a turn for a group that is not in hand."""
        if (turns, group) in self.in_hand or shutdown_requested.is_set():
            return
        self.in_hand[turns, group] = False
        task = self.loop.create_task(self.deliver(turns, group, is_slow))
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)

    async def deliver(self, turns: GroupRunner, group: Any, is_slow: bool) -> None:
        """A turn, and behind the others that wait another one if it was not enough."""
        has_more = await self.turn(turns, group, is_slow)
        was_rung = self.in_hand.pop((turns, group))
        if was_rung or (has_more and not is_slow):
            self.take(turns, group)

    async def turn(self, turns: GroupRunner, group: Any, is_slow: bool) -> bool:
        """One turn, when there is a place; True if it was not enough."""
        try:
            async with self.places[is_slow]:
                return await turns.drain(group, is_slow=is_slow)
        except Error as error:
            logger.warning("the database is away (%s); the lease ends by itself", type(error).__name__)
        except Exception:
            logger.exception("a turn failed")
        return False


running_dispatchers: list[Dispatcher] = []  # this process's
os.register_at_fork(after_in_child=running_dispatchers.clear)  # a thread is not there in a child


def dispatch(queue: Queue, group_id: Any) -> bool:
    """Tell this process's courier, or deliver here and now if it has none; True if there may be more."""
    for courier in running_dispatchers:
        courier.ring(queue, group_id)
        return False
    return run_group(queue, group_id)
