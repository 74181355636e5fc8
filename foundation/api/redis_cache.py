"""Django's cache in Redis, with a client that is kept.

Django makes a new client for each command, which costs a small request a fifth of its processor time. It also sends two
commands to count; a counter that expires between them would be made anew without an expiry.
"""

from typing import Any

from django.conf import settings
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis import Redis

from foundation.metrics.definitions import time_redis

# Returns nothing if there is no such counter.
INCREMENT = "return redis.call('EXISTS', KEYS[1]) == 1 and redis.call('INCRBY', KEYS[1], ARGV[1])"


class TimedRedis(Redis):
    def execute_command(self, *args: Any, **options: Any) -> Any:
        return time_redis(super().execute_command, *args, **options)


class KeptClient(RedisCacheClient):
    """Sends all commands by one client. There is one server for reading and writing."""

    client: Redis | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if settings.METRICS_TOKEN:
            self._client = TimedRedis

    def get_client(self, key: str | bytes | memoryview | None = None, *, write: bool = False) -> Redis:
        if self.client is None:
            self.client = super().get_client(key, write=True)
        return self.client

    def incr(self, key: str | bytes | memoryview, delta: int) -> int:
        count: int | None = self.get_client(key, write=True).eval(INCREMENT, 1, key, delta)
        if count is None:
            raise ValueError(f"Key {key!r} not found.")
        return count


class KeptRedisCache(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = KeptClient
