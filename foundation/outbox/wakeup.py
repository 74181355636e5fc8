"""Wake-up messages: tell a worker that a group has jobs.

The messages only save time. A lost one costs at most one poll interval, because every dispatcher looks for due jobs
by itself.
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

_pending: dict[tuple[str, str], None] = {}  # a set that keeps its order
_changed = threading.Condition()
_thread: threading.Thread | None = None


def notify_on_commit(model: type[Job], group_id: UUID | str) -> None:
    """Tell a worker that the group has jobs, once the transaction has committed (at once if there is none)."""
    transaction.on_commit(partial(enqueue, model._meta.label_lower, str(group_id)))


def enqueue(model: str, group_id: str) -> None:
    """Hand a message to the publisher thread, so that no request waits for the broker."""
    global _thread
    with _changed:
        _pending[model, group_id] = None
        # A forked child inherits the variable but not the thread.
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_publisher_loop, name="outbox-wakeup", daemon=True)
            _thread.start()
        _changed.notify()


def _publisher_loop() -> None:
    """Publish pending messages, merging those that arrive within `DEBOUNCE_SECONDS` into one per group.

    Publishing a message costs about a third of a booking. The first one leaves at once; only a busy process delays
    the next ones. While the broker is unreachable, it is tried every `BACKOFF_SECONDS`.
    """
    global _pending
    while True:
        with _changed:
            while not _pending:
                _changed.wait()
            batch, _pending = _pending, {}
        try:
            for model, group_id in batch:
                publish(model, group_id)
            time.sleep(DEBOUNCE_SECONDS)
        except (OperationalError, OSError) as error:
            name = type(error).__name__
            logger.warning("Message broker unreachable (%s); dispatchers will find the jobs by polling", name)
            time.sleep(BACKOFF_SECONDS)


def publish(model: str, group_id: str) -> None:
    """Send one message to the broker."""
    current_app.send_task(WAKE_UP_TASK, (model, group_id), retry=False)
