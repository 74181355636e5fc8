"""Counts Celery tasks. Importing this module is enough."""

import time

from celery import Task
from celery.signals import task_postrun, task_prerun

from foundation.metrics.definitions import TASK_SECONDS, TASK_SUCCEEDED_AT, TASKS


@task_prerun.connect
def start(task: Task, **_: object) -> None:
    vars(task.request)["started_at"] = time.monotonic()


@task_postrun.connect
def end(task: Task, state: str | None, **_: object) -> None:
    outcome = (state or "unknown").lower()
    TASKS.labels(task.name, outcome).inc()
    TASK_SECONDS.labels(task.name).observe(time.monotonic() - vars(task.request)["started_at"])
    if outcome == "success":
        TASK_SUCCEEDED_AT.labels(task.name).set_to_current_time()
