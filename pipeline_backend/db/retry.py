"""Retrying a transaction that lost a race against another one."""

from collections.abc import Callable
from typing import TypeVar

from django.db import IntegrityError, OperationalError, transaction
from psycopg.errors import DeadlockDetected, SerializationFailure

T = TypeVar("T")


def atomic_with_retry(function: Callable[[], T]) -> T:
    """Call the function in a transaction and return its result; retry once after a conflict.

    A conflict is an integrity error (another transaction inserted the same row first), a deadlock or a serialization
    failure. The function must be safe to call twice. Whatever the second call raises is passed on.
    """
    try:
        with transaction.atomic():
            return function()
    except IntegrityError:
        pass  # the retry finds the row that the other transaction has committed
    except OperationalError as error:
        if not is_serialization_failure(error):
            raise
    with transaction.atomic():
        return function()


def is_serialization_failure(error: OperationalError) -> bool:
    """Return whether PostgreSQL rolled the transaction back in favor of another, so that a retry can succeed."""
    return isinstance(error.__cause__, DeadlockDetected | SerializationFailure)
