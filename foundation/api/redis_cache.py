"""Django's cache in Redis, with a client that is kept.

Django makes a new client for each command, which costs a small request a fifth of its processor time.
"""

from typing import Any

from django.conf import settings
from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from redis import Redis

from foundation.metrics.definitions import time_redis


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


class KeptRedisCache(RedisCache):
    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = KeptClient
