"""The transactional outbox: jobs are rows, written in the transaction that causes them."""

from pipeline_backend.outbox.dispatcher import Dispatcher, dispatch, running_dispatchers
from pipeline_backend.outbox.group_runner import run_group
from pipeline_backend.outbox.models import Job, State
from pipeline_backend.outbox.queue import BATCH_SIZE, MAX_CLAIMS, Queue, shutdown_requested
from pipeline_backend.outbox.retries import Result
from pipeline_backend.outbox.wakeup import notify_on_commit

__all__ = [
    "BATCH_SIZE",
    "MAX_CLAIMS",
    "Dispatcher",
    "Job",
    "Queue",
    "Result",
    "State",
    "dispatch",
    "notify_on_commit",
    "run_group",
    "running_dispatchers",
    "shutdown_requested",
]
