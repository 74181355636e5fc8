"""Health checks: `/healthz` for monitoring, `/readyz` for web containers and load balancers.

Worker containers run `manage.py health`, the same check as `/healthz`.
"""

import time
from datetime import timedelta
from functools import cache
from threading import Lock
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.db import Error, InterfaceError, OperationalError, connection
from django.db.models import Exists, OuterRef, QuerySet, Value
from django.db.models.functions import Now
from django.http import HttpRequest, JsonResponse

from foundation.api.exceptions import RETRY_AFTER_SECONDS
from foundation.outbox import Queue, State, load_queues
from organizations.isolation import bypass_rls

CACHE_KEY, FRESH_SECONDS = "health", 1
NO_DATABASE = "The database does not answer"
MAX_AGE_SECONDS = 30  # of the answer that is given while another request makes the next one; after that, all wait
_asking = Lock()


def healthz(request: HttpRequest) -> JsonResponse:
    return health_response(cached_health_error())


def readyz(request: HttpRequest) -> JsonResponse:
    # Workers don't matter here: a booking can be accepted while they are down, and is processed when they are back.
    return health_response(database_error())


def health_response(error: str) -> JsonResponse:
    if error:
        return JsonResponse(
            {"status": "error", "message": error}, status=503, headers={"Retry-After": str(RETRY_AFTER_SECONDS)}
        )
    return JsonResponse({"status": "ok"})


def cached_health_error() -> str:
    """Return `health_error()`, at most a second old unless a request of this process is just asking for it."""
    # Strangers may ask, too, and the backlog of all organizations takes many milliseconds to query.
    memory = caches["memory"]
    cached: tuple[float, str] | None = memory.get(CACHE_KEY)
    if cached and (time.time() - cached[0] < FRESH_SECONDS or _asking.locked()):
        return cached[1]
    with _asking:
        newer: tuple[float, str] | None = memory.get(CACHE_KEY)
        if newer is None or newer == cached:
            newer = time.time(), health_error()
            memory.set(CACHE_KEY, newer, MAX_AGE_SECONDS)
    return newer[1]


def health_error() -> str:
    """Return a sentence, or "" if the service is healthy."""
    try:
        return backlog_error()
    except (InterfaceError, OperationalError):
        return NO_DATABASE


def backlog_error() -> str:
    seconds = settings.HEALTH_BACKLOG_SECONDS
    # The backlog spans all organizations; the sentence names none of them.
    with bypass_rls(), connection.cursor() as cursor:
        cursor.execute(*stale_backlog_statement(seconds))
        stale = dict.fromkeys(label for (label,) in cursor.fetchall())
    names = " and ".join(stale).capitalize()
    return f"{names} have been due for more than {seconds} seconds, and no worker is processing them" if stale else ""


def database_error() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except Error:
        return NO_DATABASE
    return ""


@cache
def stale_backlog_statement(seconds: int) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL, and its parameters, that asks for the label of each queue with a stale backlog."""
    queues = [stale_groups(queue, seconds).order_by().values_list(Value(queue.label))[:1] for queue in load_queues()]
    return queues[0].union(*queues[1:], all=True).query.sql_with_params()


def stale_groups(queue: Queue, seconds: int) -> QuerySet:
    """Return the receivers that have overdue jobs while no worker is processing one of their jobs.

    A slow receiver delays its own jobs, which is not our failure: it either has a leased job or is in the slow lane.
    """
    backlog_age = timedelta(seconds=seconds)
    # Only existence is tested: counting a large backlog would make the health check slow when it matters most.
    jobs = queue.rows.filter(**{f"{queue.group_field}_id": OuterRef("pk")}, state=State.PENDING).order_by()
    overdue = jobs.filter(next_attempt_at__lt=Now() - backlog_age)
    leased = jobs.filter(lease_token__isnull=False, next_attempt_at__gt=Now())
    # Jobs that a limit has postponed could not be claimed before the pause of their group ended.
    return queue.groups().exclude(queue.paused_since(backlog_age)).filter(Exists(overdue), ~Exists(leased))
