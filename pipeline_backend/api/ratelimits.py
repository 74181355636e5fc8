"""Rate limits: counted by django-ratelimit in Redis, in this process when Redis is away (decision 7)."""

import logging
import time
from dataclasses import dataclass
from typing import Any, ClassVar

from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.base import BaseCache
from django.http import HttpRequest
from django_ratelimit.core import get_usage
from redis.exceptions import RedisError
from rest_framework.response import Response

from pipeline_backend.api.exceptions import TooManyRequests

logger = logging.getLogger(__name__)

WINDOW_SECONDS = 60
AWAY_SECONDS = 5
LOG_EVERY_SECONDS = 60
COUNT = """
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return count
"""


class SteadyCache(BaseCache):
    """Redis, or this process's memory for a few seconds after Redis failed.

    django-ratelimit lets a cache's exceptions through whatever its fail-open setting says, so its cache must not raise.
    """

    away_until: ClassVar[float] = 0.0
    logged_at: ClassVar[float] = float("-inf")

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.counted = 0
        self.client: Any = None

    def add(self, key: Any, value: Any, timeout: Any = None, version: Any = None) -> bool:
        """Count, and true if it is the first. django-ratelimit then asks `incr` for the number: one round trip, not two."""
        self.counted = self.count(key, timeout)
        return self.counted == 1

    def incr(self, key: Any, delta: int = 1, version: Any = None) -> int:
        """What `add` has counted just now; each thread has a cache of its own."""
        return self.counted

    def count(self, key: str, timeout: int) -> int:
        """One more, atomically: in Redis, unless it failed just now."""
        if time.monotonic() >= self.away_until:
            try:
                redis: Any = caches["default"]
                self.client = self.client or redis._cache.get_client(None, write=True)  # Django makes another for each call
                return int(self.client.eval(COUNT, 1, redis.make_key(key), timeout))
            except (RedisError, OSError) as error:
                self.note_away(error)
        memory = caches["memory"]
        return 1 if memory.add(key, 1, timeout) else memory.incr(key)

    @classmethod
    def note_away(cls, error: Exception) -> None:
        """Leave Redis alone for a while, in every thread, and say so once a minute."""
        now = time.monotonic()
        cls.away_until = now + AWAY_SECONDS
        if now - cls.logged_at >= LOG_EVERY_SECONDS:
            cls.logged_at = now
            logger.warning("Redis is away (%s); rate limits are counted in this process", type(error).__name__)


@dataclass(frozen=True)
class Usage:
    """One limit as it stands after this request: requests allowed and left, seconds until it starts anew."""

    limit: int
    left: int
    reset: int
    is_over: bool

    def refuse_if_over(self) -> None:
        """429 past the limit."""
        if self.is_over:
            raise TooManyRequests(wait=self.reset)

    def write(self, response: Response) -> None:
        """The IETF draft's two fields."""
        response["RateLimit-Policy"] = f'"default";q={self.limit};w={WINDOW_SECONDS}'
        response["RateLimit"] = f'"default";r={self.left};t={self.reset}'


def charge(request: HttpRequest, *, group: str, whom: str, limit: int) -> Usage:
    """Count one request against `whom`."""
    counted = get_usage(request, group=group, key=lambda *_: whom, rate=f"{limit}/{WINDOW_SECONDS}s", increment=True)
    if counted is None:  # Redis went away between two steps of the count: this one request is free
        return Usage(limit=limit, left=limit, reset=WINDOW_SECONDS, is_over=False)
    left = max(0, limit - counted["count"])
    # django-ratelimit counts the second in which a window ends to that window.
    return Usage(limit=limit, left=left, reset=counted["time_left"] + 1, is_over=counted["should_limit"])


def charge_failed_key(request: HttpRequest) -> None:
    """Count a failed authentication against the client's address (429 past the limit)."""
    charge(request, group="failed-keys", whom=client_address(request), limit=settings.FAILED_KEYS_PER_MINUTE).refuse_if_over()


def client_address(request: HttpRequest) -> str:
    """Where the request came from; the proxy's word counts only if the operator says there is one."""
    forwarded = request.headers.get("X-Forwarded-For", "")
    if settings.SECURE_PROXY_SSL_HEADER and forwarded:
        return forwarded.rsplit(",", 1)[-1].strip()
    return request.META.get("REMOTE_ADDR") or "unknown"
