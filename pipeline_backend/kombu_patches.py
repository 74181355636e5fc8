"""Patches to Celery's Redis transport (kombu 5.7, redis-py 8), so that it fails fast when Redis is unreachable.

Nothing here is needed for correctness: jobs are rows, and messages only save time.
"""

from typing import Any

from kombu.transport.redis import Channel, Transport
from redis import Connection
from redis.backoff import NoBackoff
from redis.retry import Retry


class NoRetryConnection(Connection):
    """A connection that fails at the first error; with redis-py's own retries a booking would wait six seconds."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("retry", Retry(NoBackoff(), 0))
        super().__init__(*args, **options)


def apply() -> None:
    """Apply the patches. Call it before the Celery app connects."""
    Channel.connection_class = NoRetryConnection
    # Acknowledging a message after the connection was lost raises an AttributeError inside kombu. Listed as a
    # connection error it makes the worker reconnect; otherwise the worker would stop.
    Transport.connection_errors = (*Transport.connection_errors, AttributeError)
