"""Rate limits: counted by django-ratelimit in Redis, in this process when Redis is away (decision 7).

django-ratelimit counts in fixed windows, which let twice the limit through around a window's edge. Its cache is ours, so
what it is told is the number of requests in the minute that ends now: no minute, wherever it begins, has more than the
limit. Times are the web servers' own; they should agree to within a second.
"""

import hashlib
import ipaddress
import logging
import math
import threading
import time
from dataclasses import dataclass
from typing import Any, ClassVar

from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.base import BaseCache
from django.http import HttpRequest
from django_ratelimit.core import get_usage
from redis.exceptions import NoScriptError, RedisError
from rest_framework.response import Response

from pipeline_backend.api.exceptions import TooManyRequests

logger = logging.getLogger(__name__)

WINDOW_SECONDS = 60
AWAY_SECONDS = 5
LOG_EVERY_SECONDS = 60
REMEMBERED_SECONDS = 5

# The moments of the requests that were let through in the last minute, newest first. A refused one is not counted. The
# list goes a minute after its newest, by Redis's own clock, so that a clock set back refuses nobody for longer.
COUNT = """
local moments, now, window, limit = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local oldest = redis.call('LINDEX', moments, -1)
while oldest and tonumber(oldest) <= now - window do
    redis.call('RPOP', moments)
    oldest = redis.call('LINDEX', moments, -1)
end
local count = redis.call('LLEN', moments)
if count >= limit then return {limit + 1, redis.call('LINDEX', moments, limit - 1)} end
redis.call('LPUSH', moments, ARGV[1])
redis.call('PEXPIRE', moments, window)
return {count + 1, oldest or ARGV[1]}
"""


COUNT_SHA = hashlib.sha1(COUNT.encode(), usedforsecurity=False).hexdigest()


def milliseconds() -> int:
    """The time, in the unit in which requests are counted."""
    return int(time.time() * 1000)


class RedisConnection:
    """A connection to Redis that is kept, for `COUNT`: the client's layers above it take a tenth of a small answer's time."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def count(self, key: str, *arguments: int) -> tuple[int, int]:
        """What the script answers; a connection that failed is made anew the next time."""
        if self.connection.is_connected and self.is_stale():
            self.connection.disconnect()
        try:
            counted, oldest = self.ask("EVALSHA", COUNT_SHA, 1, key, *arguments)
        except NoScriptError:  # Redis is new, and keeps it from now on
            counted, oldest = self.ask("EVAL", COUNT, 1, key, *arguments)
        return int(counted), int(oldest)

    def is_stale(self) -> bool:
        """Whether Redis has ended it meanwhile, or said something that nobody asked."""
        try:
            return bool(self.connection.can_read())
        except (RedisError, OSError):
            return True

    def ask(self, *words: Any) -> Any:
        """One command's answer."""
        self.connection.send_command(*words)
        return self.connection.read_response()


class SlidingWindowCache(BaseCache):
    """Redis, or this process's memory for a few seconds after Redis failed.

    django-ratelimit lets a cache's exceptions through whatever its fail-open setting says, so its cache must not raise.
    Its keys change with its windows, ours must not: `whom` and `limit` are told before it counts. Each thread has a
    cache of its own.
    """

    away_until: ClassVar[float] = 0.0
    logged_at: ClassVar[float] = float("-inf")
    lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.line: RedisConnection | None = None
        self.whom, self.limit = "", 0
        self.counted, self.free_at = 0, 0

    def about(self, whom: str, limit: int) -> None:
        """Whose requests are counted next, and how many they have."""
        self.whom, self.limit = whom, limit

    def add(self, key: Any, value: Any, timeout: Any = None, version: Any = None) -> bool:
        """Count, and true if it is the first. django-ratelimit then asks `incr` for the number: one round trip, not two."""
        now = milliseconds()
        self.counted, oldest = self.count(now)
        self.free_at = oldest + WINDOW_SECONDS * 1000
        return self.counted == 1

    def incr(self, key: Any, delta: int = 1, version: Any = None) -> int:
        """What `add` has counted just now."""
        return self.counted

    def count(self, now: int) -> tuple[int, int]:
        """The requests of this minute with this one, atomically (one past the limit if it has no place), and the oldest's moment."""
        if time.monotonic() >= self.away_until:
            try:
                redis: Any = caches["default"]
                self.line = self.line or RedisConnection(
                    redis._cache.get_client(None, write=True).connection_pool.make_connection()
                )
                return self.line.count(redis.make_key(self.whom), now, WINDOW_SECONDS * 1000, self.limit)
            except (RedisError, OSError) as error:
                self.note_away(error)
        return self.count_here(now)

    def count_here(self, now: int) -> tuple[int, int]:
        """The same in this process's memory."""
        memory = caches["memory"]
        with self.lock:
            moments = [moment for moment in memory.get(self.whom, []) if moment > now - WINDOW_SECONDS * 1000]
            if len(moments) >= self.limit:
                return self.limit + 1, moments[-self.limit]
            memory.set(self.whom, [*moments, now], WINDOW_SECONDS)
        return len(moments) + 1, (moments or [now])[0]

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
    """One limit as it stands after this request: requests allowed and left, and the moment (in ms) at which there is one more."""

    limit: int
    left: int
    free_at: int
    is_over: bool

    @property
    def reset(self) -> int:
        """Whole seconds until one more request is let through than now."""
        return min(WINDOW_SECONDS, max(1, math.ceil((self.free_at - milliseconds()) / 1000)))

    def refuse_if_over(self) -> None:
        """429 past the limit."""
        if self.is_over:
            raise TooManyRequests(wait=self.reset)

    def write(self, response: Response) -> None:
        """The IETF draft's two fields."""
        response["RateLimit-Policy"] = f'"default";q={self.limit};w={WINDOW_SECONDS}'
        response["RateLimit"] = f'"default";r={self.left};t={self.reset}'


def hit(request: HttpRequest, *, group: str, whom: str, limit: int) -> Usage:
    """Count one request against `whom`."""
    counter: Any = caches["ratelimits"]
    counter.about(f"{group}:{hashed(whom)}", limit)
    counted = get_usage(request, group=group, key=lambda *_: whom, rate=(limit, WINDOW_SECONDS), increment=True)
    return Usage(
        limit=limit, left=max(0, limit - counted["count"]), free_at=counter.free_at, is_over=counted["should_limit"]
    )


def hashed(whom: str) -> str:
    """No address, e-mail or key stands readable in Redis."""
    return hashlib.sha256(whom.encode()).hexdigest()


def cache_exhaustion(whom: str, usage: Usage) -> None:
    """Keep for a few seconds that nothing is left: until then `whom` can be refused without asking anybody."""
    seconds = (usage.free_at - milliseconds()) / 1000
    if usage.left == 0 and seconds > 0:
        caches["memory"].set(
            f"used-up:{whom}", Usage(usage.limit, 0, usage.free_at, is_over=True), min(seconds, REMEMBERED_SECONDS)
        )


def cached_exhaustion(whom: str) -> Usage | None:
    """What was remembered, as long as it is so."""
    usage: Usage | None = caches["memory"].get(f"used-up:{whom}")
    return usage


def hit_failed_key(request: HttpRequest) -> None:
    """Count a failed authentication against the client's address (429 past the limit)."""
    hit(
        request, group="failed-keys", whom=client_address(request), limit=settings.FAILED_KEYS_PER_MINUTE
    ).refuse_if_over()


def client_address(request: HttpRequest) -> str:
    """Where the request came from; the proxy's word counts only if the operator says there is one."""
    forwarded = request.headers.get("X-Forwarded-For", "")
    address = request.META.get("REMOTE_ADDR") or "unknown"
    if settings.SECURE_PROXY_SSL_HEADER and forwarded:
        address = forwarded.rsplit(",", 1)[-1].strip()
    return network_of(address)


def network_of(address: str) -> str:
    """An address as it is counted: whoever has one of IPv6 has its whole /64."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv4Address):
        return address
    return str(known.ipv4_mapped or ipaddress.ip_network((known.packed, 64), strict=False))
