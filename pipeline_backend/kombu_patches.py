"""What Celery's Redis transport (kombu 5.7, redis-py 8) needs to be quick about a Redis that is away.

Nothing here is needed for correctness: the rows are the truth, messages only ring.
"""

from typing import Any

from kombu.transport.redis import Channel, Transport
from redis import Connection
from redis.backoff import NoBackoff
from redis.retry import Retry


class NoRetryConnection(Connection):
    """Fails at the first failure; redis-py's own retries hold a booking for six seconds."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("retry", Retry(NoBackoff(), 0))
        super().__init__(*args, **options)


def apply() -> None:
    """Once, before the app connects."""
    Channel.connection_class = NoRetryConnection
    # An acknowledgement that comes after the connection was lost fails with an AttributeError inside kombu. As one of
    # the connection's errors it makes the worker connect anew; otherwise it would end the worker.
    Transport.connection_errors = (*Transport.connection_errors, AttributeError)
