"""Redis: Celery's broker, and the rate limits' counters."""

from redis.backoff import NoBackoff
from redis.retry import Retry

from pipeline_backend.env import read_redis_url

REDIS_URL = read_redis_url("REDIS_URL")
REDIS_SOCKET_SECONDS = 0.5
CACHES = {
    "default": {
        "BACKEND": "foundation.api.redis_cache.KeptRedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "pb",
        # No retries: callers have a fallback, which is better than waiting.
        "OPTIONS": {
            "socket_timeout": REDIS_SOCKET_SECONDS,
            "socket_connect_timeout": REDIS_SOCKET_SECONDS,
            "retry": Retry(NoBackoff(), 0),
        },
    },
    "memory": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "fallback",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    },
}
RATELIMIT_FAIL_OPEN = True
SILENCED_SYSTEM_CHECKS = ["django_ratelimit.W001"]  # it knows django-redis, and not yet Django's own cache in Redis
