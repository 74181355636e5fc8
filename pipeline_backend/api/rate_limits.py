"""Rate limits: requests are counted in Redis, or in this process while Redis is down (docs/interface.md, G31 to G35).

django-ratelimit does the bookkeeping, but it counts in fixed windows, which allow twice the limit around the end of a
window. It therefore counts in our `SlidingWindowCache`, which returns the number of requests in the last 60 seconds
instead. So no 60 seconds, wherever they begin, have more requests than the limit.

Timestamps come from the web servers' clocks, which should agree to within a second.
"""

import hashlib
import ipaddress
import logging
import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.conf import settings
from django.core.cache import caches
from django.core.cache.backends.base import BaseCache
from django.http import HttpRequest
from django_ratelimit.core import get_usage
from redis.connection import AbstractConnection
from redis.exceptions import NoScriptError, RedisError
from rest_framework.response import Response

from pipeline_backend.api.exceptions import TooManyRequests

logger = logging.getLogger(__name__)

WINDOW_SECONDS = 60
CIRCUIT_OPEN_SECONDS = 5  # how long Redis is left alone after an error
LOG_EVERY_SECONDS = 60
EXHAUSTION_CACHE_SECONDS = 5

# A list of the timestamps of the requests that were let through in the last window, newest first. Refused requests are
# not counted, so that a client that keeps trying is served again as soon as it has waited. The list expires one window
# after its newest entry, by the clock of Redis: a web server's clock that is set back refuses nobody for longer.
# Returns the number of requests with this one (limit + 1 if it is refused), and the oldest timestamp that counts.
COUNT = """
local timestamps, now, window, limit = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local oldest = redis.call('LINDEX', timestamps, -1)
while oldest and tonumber(oldest) <= now - window do
    redis.call('RPOP', timestamps)
    oldest = redis.call('LINDEX', timestamps, -1)
end
local count = redis.call('LLEN', timestamps)
if count >= limit then return {limit + 1, redis.call('LINDEX', timestamps, limit - 1)} end
redis.call('LPUSH', timestamps, ARGV[1])
redis.call('PEXPIRE', timestamps, window)
return {count + 1, oldest or ARGV[1]}
"""
COUNT_SHA = hashlib.sha1(COUNT.encode(), usedforsecurity=False).hexdigest()


def milliseconds() -> int:
    """Return the current time in milliseconds, the unit of the stored timestamps."""
    return int(time.time() * 1000)


class RedisConnection:
    """A persistent connection to Redis that runs `COUNT`.

    It goes below redis-py's client and pool, which take a tenth of the time of a small response.
    """

    def __init__(self, connection: AbstractConnection) -> None:
        self.connection = connection

    def count(self, key: str, *arguments: int) -> tuple[int, int]:
        """Run the script and return its two numbers. A connection that failed is opened again on the next call."""
        if self.connection.is_connected and self.is_stale():
            self.connection.disconnect()
        try:
            count, oldest = self.execute("EVALSHA", COUNT_SHA, 1, key, *arguments)
        except NoScriptError:  # Redis has restarted; EVAL loads the script for the next calls
            count, oldest = self.execute("EVAL", COUNT, 1, key, *arguments)
        return int(count), int(oldest)

    def is_stale(self) -> bool:
        """Return whether Redis has closed the connection, or has sent something that no command asked for."""
        try:
            return bool(self.connection.can_read())
        except (RedisError, OSError):
            return True

    def execute(self, *command: str | int) -> Any:
        """Send a command and return its reply."""
        self.connection.send_command(*command)
        return self.connection.read_response()


class SlidingWindowCache(BaseCache):
    """The cache in which django-ratelimit counts: Redis, or this process's memory for a few seconds after Redis failed.

    django-ratelimit passes a cache's exceptions on, whatever its fail-open setting says, so this cache must not raise.
    django-ratelimit's cache key changes with its window, which ours must not: `select` says what is counted next.
    Django makes one instance per thread.
    """

    # Class attributes, because every thread should leave Redis alone as soon as one has seen it fail.
    circuit_open_until: ClassVar[float] = 0.0
    last_logged_at: ClassVar[float] = float("-inf")
    lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.connection: RedisConnection | None = None
        self.key, self.limit = "", 0
        self.request_count, self.reset_at = 0, 0

    def select(self, key: str, limit: int) -> None:
        """Set the key that the next `add` counts against, and its limit."""
        self.key, self.limit = key, limit

    def add(self, key: str, value: object, timeout: float | None = None, version: int | None = None) -> bool:
        """Count a request; return whether it is the first of the window."""
        # django-ratelimit calls `incr` next if this is False; that returns the count of this one round trip.
        self.request_count, oldest = self.count(milliseconds())
        self.reset_at = oldest + WINDOW_SECONDS * 1000
        return self.request_count == 1

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Return the number that `add` has just counted."""
        return self.request_count

    def count(self, now: int) -> tuple[int, int]:
        """Count a request atomically; return the same two numbers as `COUNT`."""
        if time.monotonic() >= self.circuit_open_until:
            try:
                redis: Any = caches["default"]
                if self.connection is None:
                    pool = redis._cache.get_client(None, write=True).connection_pool
                    self.connection = RedisConnection(pool.make_connection())
                return self.connection.count(redis.make_key(self.key), now, WINDOW_SECONDS * 1000, self.limit)
            except (RedisError, OSError) as error:
                self.open_circuit(error)
        return self.count_in_memory(now)

    def count_in_memory(self, now: int) -> tuple[int, int]:
        """Count a request in this process's memory, as `COUNT` does in Redis."""
        memory = caches["memory"]
        with self.lock:
            window_start = now - WINDOW_SECONDS * 1000
            timestamps = [timestamp for timestamp in memory.get(self.key, []) if timestamp > window_start]
            if len(timestamps) >= self.limit:
                return self.limit + 1, timestamps[-self.limit]
            memory.set(self.key, [*timestamps, now], WINDOW_SECONDS)
        return len(timestamps) + 1, (timestamps or [now])[0]

    @classmethod
    def open_circuit(cls, error: Exception) -> None:
        """Stop using Redis for a few seconds, in every thread, and log it at most once a minute."""
        now = time.monotonic()
        cls.circuit_open_until = now + CIRCUIT_OPEN_SECONDS
        if now - cls.last_logged_at >= LOG_EVERY_SECONDS:
            cls.last_logged_at = now
            logger.warning("Redis is unavailable (%s); rate limits are counted in this process", type(error).__name__)


@dataclass(frozen=True)
class Usage:
    """A rate limit after a request was counted against it.

    `reset_at` is when one more request becomes available, in milliseconds since 1970. `exceeded` means that the request
    itself must be refused.
    """

    limit: int
    remaining: int
    reset_at: int
    exceeded: bool

    @property
    def reset_after(self) -> int:
        """The whole seconds until one more request becomes available."""
        return min(WINDOW_SECONDS, max(1, math.ceil((self.reset_at - milliseconds()) / 1000)))

    def raise_if_exceeded(self) -> None:
        """Raise TooManyRequests (429) if the limit is exceeded."""
        if self.exceeded:
            raise TooManyRequests(wait=self.reset_after)

    def set_headers(self, response: Response) -> None:
        """Set the two header fields of the IETF's draft on rate limit headers."""
        response["RateLimit-Policy"] = f'"default";q={self.limit};w={WINDOW_SECONDS}'
        response["RateLimit"] = f'"default";r={self.remaining};t={self.reset_after}'


def hit(request: HttpRequest, *, group: str, key: str, limit: int) -> Usage:
    """Count one request against `key` within `group`, and return the limit's usage."""
    cache: Any = caches["ratelimits"]
    # Hashed, so that no address, e-mail or API key is readable in Redis.
    cache.select(f"{group}:{hashlib.sha256(key.encode()).hexdigest()}", limit)
    usage = get_usage(request, group=group, key=lambda *_: key, rate=(limit, WINDOW_SECONDS), increment=True)
    return Usage(
        limit=limit,
        remaining=max(0, limit - usage["count"]),
        reset_at=cache.reset_at,
        exceeded=usage["should_limit"],
    )


def cache_exhaustion(label: str, usage: Usage, max_seconds: int = EXHAUSTION_CACHE_SECONDS) -> None:
    """Remember for a while that a limit has nothing remaining, so that requests are refused without any query."""
    seconds = (usage.reset_at - milliseconds()) / 1000
    if usage.remaining == 0 and seconds > 0:
        exhausted = Usage(usage.limit, 0, usage.reset_at, exceeded=True)
        caches["memory"].set(f"exhausted:{label}", exhausted, min(seconds, max_seconds))


def cached_exhaustion(label: str) -> Usage | None:
    """Return the usage that `cache_exhaustion` stored, as long as it is valid."""
    usage: Usage | None = caches["memory"].get(f"exhausted:{label}")
    # A reset further away than a window means that the clock was set back; then the counter decides.
    return usage if usage and usage.reset_at - milliseconds() <= WINDOW_SECONDS * 1000 else None


def hit_failed_key(request: HttpRequest) -> None:
    """Count a failed authentication against the client's address; raises TooManyRequests past the limit.

    A process that knows that the limit is exhausted asks nobody.
    """
    usage = cached_failed_keys(request)
    if usage is None:
        usage = hit(request, group="failed-keys", key=client_address(request), limit=settings.FAILED_KEYS_PER_MINUTE)
        # Until the reset: the limit is the same for all addresses, so nobody can raise it meanwhile.
        cache_exhaustion(failed_keys_label(request), usage, WINDOW_SECONDS)
    usage.raise_if_exceeded()


def cached_failed_keys(request: HttpRequest) -> Usage | None:
    """Return the usage of the address's limit of failed keys if this process knows that it is exhausted."""
    return cached_exhaustion(failed_keys_label(request))


def failed_keys_label(request: HttpRequest) -> str:
    """Return the name under which an address's exhausted limit of failed keys is cached."""
    return f"failed-keys:{hashlib.sha256(client_address(request).encode()).hexdigest()}"


def client_address(request: HttpRequest) -> str:
    """Return the address that requests of this client are counted against."""
    return address_from_meta(request.META)


def address_from_meta(meta: Mapping[str, Any]) -> str:
    """Return the address that requests of a client are counted against, from a request's META or WSGI environment."""
    forwarded = meta.get("HTTP_X_FORWARDED_FOR", "")
    address = meta.get("REMOTE_ADDR") or "unknown"
    # Without a trusted proxy, clients could set the header themselves. With one, only its own entry (the last) counts.
    if settings.SECURE_PROXY_SSL_HEADER and forwarded:
        address = forwarded.rsplit(",", 1)[-1].strip()
    return network_of(address)


def network_of(address: str) -> str:
    """Return an IPv4 address unchanged, and the /64 network of an IPv6 address: its owner has all of it."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(parsed.ipv4_mapped or ipaddress.ip_network((parsed.packed, 64), strict=False))
