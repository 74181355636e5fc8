"""The worker's own loop: it finds and delivers what no doorbell announced, with no help of Redis or beat.

It serves the slow lane too, with threads of its own, so that receivers that hang never hold up the others.
"""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import DatabaseError, close_old_connections, connection

from pipeline_backend.outbox import Queue, stopping

logger = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 1.0
FAST_THREADS = 8
SLOW_THREADS = 4


class Courier:
    """Looks for due work every second, in one thread, and hands it to two pools."""

    def __init__(self, queues: list[Queue]) -> None:
        self.queues = queues
        self.pools = {False: ThreadPoolExecutor(FAST_THREADS, "courier"), True: ThreadPoolExecutor(SLOW_THREADS, "courier-slow")}
        self.in_hand: set[tuple[int, Any]] = set()
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self.run, name="courier", daemon=True)

    def start(self) -> None:
        """Begin looking. It ends with `outbox.stopping`: what is under way is finished, nothing more is claimed."""
        self.thread.start()

    def run(self) -> None:
        """Look until told to stop; a database that is away is asked again."""
        while not stopping.wait(LOOK_EVERY_SECONDS):
            try:
                self.look()
            except DatabaseError as error:
                logger.warning("the database is away (%s); looking again in a moment", type(error).__name__)
            finally:
                close_old_connections()

    def look(self) -> None:
        """Hand out every group that has something due and is not in hand already."""
        for number, queue in enumerate(self.queues):
            for is_slow, pool in self.pools.items():
                for group in queue.due(is_slow=is_slow):
                    if self.take(number, group):
                        pool.submit(self.deliver, number, group, is_slow)

    def take(self, number: int, group: Any) -> bool:
        """True if nobody in this process has the group in hand."""
        with self.lock:
            is_free = (number, group) not in self.in_hand
            self.in_hand.add((number, group))
            return is_free

    def deliver(self, number: int, group: Any, is_slow: bool) -> None:
        """One turn for a group."""
        close_old_connections()
        try:
            self.queues[number].drain(group, is_slow=is_slow)
        except DatabaseError as error:
            logger.warning("the database is away (%s); the lease ends by itself", type(error).__name__)
            connection.close()  # it may lead to a server that takes no writes any more, where a new one would not
        except Exception:
            logger.exception("a turn failed")
        finally:
            close_old_connections()
            with self.lock:
                self.in_hand.discard((number, group))
