"""Rate limits: django-ratelimit counts in Redis, in fixed windows of a minute (docs/interface.md, G31 to G35).

The windows of different keys begin at different seconds. Around a window's end up to twice the limit can pass.
"""

import hashlib
import logging
import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from django.core.cache import caches
from django.http import HttpRequest
from django_ratelimit.core import get_usage
from redis.exceptions import RedisError
from rest_framework.exceptions import Throttled

from foundation.metrics.definitions import LIMITS_EXCEEDED

logger = logging.getLogger(__name__)

WINDOW_SECONDS = 60
# How many requests each whole second of a slow request counts as: at the default limits, a person's pages take at most
# half a minute of a thread's time in a minute, and an organization's API requests a minute.
REQUESTS_PER_SLOW_SECOND = 10
REDIS_PAUSE_SECONDS = 5  # for which a process leaves Redis alone after an error


@dataclass(frozen=True)
class Usage:
    """A limit with the number of requests counted in its window. The window ends at `reset_at`, in Unix time."""

    limit: int
    count: int
    reset_at: int

    @property
    def exceeded(self) -> bool:
        return self.count > self.limit

    @property
    def remaining(self) -> int:
        return max(0, self.limit - self.count)

    @property
    def reset_after(self) -> int:
        """The whole seconds until the next window, from 1 to 60."""
        return min(WINDOW_SECONDS, max(1, math.ceil(self.reset_at - time.time())))


def count(request: HttpRequest, group: str, key: str, limit: int) -> Usage | None:
    """Count a request against `key` within `group`; return None if Redis fails, which is logged once a minute."""
    memory = caches["memory"]
    if memory.get("redis-failed"):
        return None
    try:
        usage = get_usage(request, group=group, key=lambda *_: key, rate=(limit, WINDOW_SECONDS), increment=True)
    except (RedisError, OSError) as error:
        memory.set("redis-failed", True, REDIS_PAUSE_SECONDS)
        if memory.add("redis-failure-logged", True, WINDOW_SECONDS):
            logger.warning("Redis is unavailable (%s); requests are not limited", type(error).__name__)
        return None
    # None if the counter was deleted meanwhile. The window includes the second in which its time left is 0.
    return usage and Usage(limit, usage["count"], int(time.time()) + usage["time_left"] + 1)


def hit(request: HttpRequest, *, group: str, key: str, limit: int) -> Usage:
    return count(request, group, key, limit) or Usage(limit, 0, int(time.time()) + WINDOW_SECONDS)


def count_slow_seconds(started: float, count_request: Callable[[], Usage]) -> None:
    """Count a request that began at this monotonic time again for each of its whole seconds, up to the limit."""
    for _ in range(int(time.monotonic() - started) * REQUESTS_PER_SLOW_SECOND):
        if count_request().exceeded:
            return


def is_attempt_allowed(request: HttpRequest, *, group: str, key: str, limit: int) -> bool:
    """Count an attempt to guess a secret; return whether to check it. If Redis fails, this process's memory counts."""
    usage = count(request, group, key, limit)
    if usage:
        attempts = usage.count
    else:
        name = memory_name(group, f"{key} {int(time.time()) // WINDOW_SECONDS}")
        caches["memory"].add(name, 0, 2 * WINDOW_SECONDS)
        attempts = caches["memory"].incr(name)
    if attempts > limit:
        LIMITS_EXCEEDED.labels(group).inc()
    return attempts <= limit


def remember(group: str, key: str, seconds: int) -> None:
    """Remember the key for these seconds. If Redis fails, only this process does."""
    name = memory_name(group, key)
    if not caches["memory"].get("redis-failed"):
        with suppress(RedisError, OSError):
            caches["default"].set(name, True, seconds)
            return
    caches["memory"].set(name, True, seconds)


def is_remembered(group: str, key: str) -> bool:
    """Return whether the key is remembered. While Redis fails, a process knows only its own keys."""
    name = memory_name(group, key)
    if not caches["memory"].get("redis-failed"):
        with suppress(RedisError, OSError):
            return name in caches["default"]
    return name in caches["memory"]


def memory_name(group: str, key: str) -> str:
    """Return a name that doesn't contain the key, which can be a client's address."""
    return hashlib.sha256(f"{group} {key}".encode()).hexdigest()


def throttled(limit: str, usage: Usage) -> Throttled:
    LIMITS_EXCEEDED.labels(limit).inc()
    return Throttled(usage.reset_after)


def remember_exhausted(name: str, usage: Usage, seconds: int) -> None:
    """If the limit is used up, remember it under this name, so that this process can refuse without asking Redis."""
    if usage.count >= usage.limit:
        caches["memory"].set(f"exhausted:{name}", Usage(usage.limit, usage.limit + 1, usage.reset_at), seconds)


def find_exhausted(name: str) -> Usage | None:
    """Return the usage that was remembered under this name if its window has not ended."""
    usage: Usage | None = caches["memory"].get(f"exhausted:{name}")
    # A window that ends too late means that the clock was set back; then the counter decides.
    return usage if usage and 0 < usage.reset_at - time.time() <= WINDOW_SECONDS else None
