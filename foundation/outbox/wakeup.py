"""Messages that tell workers of new work, so that it doesn't wait for the next poll.

They only save time. A lost one costs a poll interval, of the dispatcher or of a periodic task, which look for work.
"""

import logging
import threading
import time
from functools import partial
from uuid import UUID

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from foundation.outbox.models import Job

logger = logging.getLogger(__name__)

WAKE_UP_TASK = "outbox.deliver_due"
BACKOFF_SECONDS = 5
DEBOUNCE_SECONDS = 0.1

_pending: dict[tuple[str, ...], None] = {}  # a set that keeps its order
_changed = threading.Condition()
_thread: threading.Thread | None = None


def notify_on_commit(model: type[Job], group_id: UUID | str) -> None:
    """Tell a worker that the group has jobs, once the transaction has committed (at once if there is none)."""
    send_on_commit(WAKE_UP_TASK, model._meta.label_lower, str(group_id))


def send_on_commit(task: str, *arguments: str) -> None:
    """Send a task's message to the workers once the transaction has committed (at once if there is none)."""
    transaction.on_commit(partial(enqueue, task, *arguments))


def enqueue(task: str, *arguments: str) -> None:
    """Hand a message to the publisher thread, so that no request waits for the broker."""
    global _thread
    with _changed:
        _pending[task, *arguments] = None
        # A forked child inherits the variable but not the thread.
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_publisher_loop, name="outbox-wakeup", daemon=True)
            _thread.start()
        _changed.notify()


def _publisher_loop() -> None:
    """Publish pending messages, merging equal ones that arrive within `DEBOUNCE_SECONDS`.

    Publishing a message is expensive (docs/performance.md). The first one leaves at once; only a busy process delays
    the next ones. While the broker is unreachable, it is tried every `BACKOFF_SECONDS`.
    """
    global _pending
    while True:
        with _changed:
            while not _pending:
                _changed.wait()
            batch, _pending = _pending, {}
        is_sent = all(publish(*message) for message in batch)
        time.sleep(DEBOUNCE_SECONDS if is_sent else BACKOFF_SECONDS)


def publish(task: str, *arguments: str) -> bool:
    """Send a message. Returns False if the broker is unreachable."""
    try:
        current_app.send_task(task, arguments, retry=False)
    except (OperationalError, OSError) as error:
        logger.warning("Message broker unreachable (%s); workers will find the work by polling", type(error).__name__)
        return False
    return True
