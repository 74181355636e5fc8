"""All metrics that processes count, and where a request's time goes. docs/metrics.md explains each."""

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import ParamSpec, TypeVar

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics, values

from foundation.metrics.shared import VARIABLE, take_place

logger = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")


place = 0


def take_own_place() -> None:
    """Let this process count in files of its own. Raises OSError if there is no room for them."""
    global place
    place = take_place(Path(os.environ[VARIABLE]))


if folder := os.environ.get(VARIABLE):
    try:
        take_own_place()
    except OSError as error:
        # Requests matter more.
        logger.error("%s: %s; the metrics lack this process", folder, error.strerror)
        values.ValueClass = values.MutexValue
    else:
        # By default a file is named after the process's id. A server whose processes die again and again would have
        # more and more of them.
        values.ValueClass = values.MultiProcessValue(lambda: place)
        os.register_at_fork(after_in_child=take_own_place)
disable_created_metrics()  # they would double the number of series

# Seconds. Requests end after 30 at the latest, which is the time-out of a statement; most take a few milliseconds.
REQUEST_BUCKETS = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
DELIVERY_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30)
DELAY_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
TASK_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)

REQUESTS = Counter("pipeline_http_requests", "Requests that were answered.", ["route", "method", "status"])
REQUEST_SECONDS = Histogram(
    "pipeline_http_request_duration_seconds",
    "Time from a thread's taking a request to its response.",
    ["route", "method"],
    buckets=REQUEST_BUCKETS,
)
REQUEST_DATABASE_SECONDS = Counter(
    "pipeline_http_request_database_seconds", "Time that requests waited for statements.", ["route", "method"]
)
REQUEST_REDIS_SECONDS = Counter(
    "pipeline_http_request_redis_seconds", "Time that requests waited for Redis.", ["route", "method"]
)
LIMITS_EXCEEDED = Counter("pipeline_limits_exceeded", "Refusals and pauses by a limit.", ["limit"])
DELIVERY_ATTEMPTS = Counter("pipeline_delivery_attempts", "Attempts to send a job, by outcome.", ["queue", "outcome"])
DELIVERY_SECONDS = Histogram(
    "pipeline_delivery_attempt_duration_seconds", "Time of an attempt.", ["queue"], buckets=DELIVERY_BUCKETS
)
CLAIM_DELAY_SECONDS = Histogram(
    "pipeline_delivery_claim_delay_seconds",
    "Time from when a job was due until a worker claimed it.",
    ["queue"],
    buckets=DELAY_BUCKETS,
)
TASKS = Counter("pipeline_tasks", "Celery tasks that have ended.", ["task", "outcome"])
TASK_SECONDS = Histogram("pipeline_task_duration_seconds", "Time of a Celery task.", ["task"], buckets=TASK_BUCKETS)
TASK_SUCCEEDED_AT = Gauge("pipeline_task_last_success_timestamp_seconds", "When a task last succeeded.", ["task"])


class RequestTimes(threading.local):
    """The seconds that this thread has waited since the request began."""

    database = 0.0
    redis = 0.0


request_times = RequestTimes()


def time_redis(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    started = perf_counter()
    try:
        return function(*args, **kwargs)
    finally:
        request_times.redis += perf_counter() - started
