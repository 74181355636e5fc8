"""The doorbell: what tells a worker that there is something to do in an outbox."""

import logging
import threading
import time
from functools import partial
from typing import Any, ClassVar

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)

BACKOFF = 5
DEBOUNCE = 0.1


class WakeUp:
    """Tells a worker that there is something to do. Losing a ring costs latency; the sweep finds the row.

    A thread rings, so that no request waits for the broker. What is wanted while it rings, or just after, becomes one
    ring for each group: a message costs as much as a third of a booking. The first rings at once; only a process that is
    busy lets its next ones wait.
    """

    silent_until: ClassVar[float] = 0.0
    wanted: ClassVar[dict[tuple[str, str], None]] = {}
    change: ClassVar[threading.Condition] = threading.Condition()
    ringer: ClassVar[threading.Thread | None] = None

    @classmethod
    def ring(cls, task: str, group_id: Any) -> None:
        """After the commit, if there is one; `task` is a task's name."""
        transaction.on_commit(partial(cls.publish, task, str(group_id)))

    @classmethod
    def publish(cls, task: str, group_id: str) -> None:
        """Leave it to the thread, which is started where there is none (a fork has none)."""
        with cls.change:
            cls.wanted[task, group_id] = None
            if cls.ringer is None or not cls.ringer.is_alive():
                cls.ringer = threading.Thread(target=cls.keep_ringing, name="doorbell", daemon=True)
                cls.ringer.start()
            cls.change.notify()

    @classmethod
    def keep_ringing(cls) -> None:
        """At once what is wanted, then a short while nothing."""
        while True:
            with cls.change:
                cls.change.wait_for(lambda: cls.wanted)
                rings, cls.wanted = cls.wanted, {}
            for task, group_id in rings:
                cls.send(task, group_id)
            time.sleep(DEBOUNCE)

    @classmethod
    def send(cls, task: str, group_id: str) -> None:
        """One message; a broker that is away is left alone for a few seconds."""
        if time.monotonic() < cls.silent_until:
            return
        try:
            current_app.send_task(task, (group_id,), retry=False)
        except (OperationalError, OSError) as error:
            cls.silent_until = time.monotonic() + BACKOFF
            logger.warning("the broker is away (%s); the sweep will find the work", type(error).__name__)
