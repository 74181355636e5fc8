"""Retrying a transaction that lost a race against others."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError, OperationalError, transaction
from psycopg.errors import DeadlockDetected, SerializationFailure

P = ParamSpec("P")
T = TypeVar("T")

# After a deadlock with one transaction, a request can find that another has inserted its row.
MAX_ATTEMPTS = 4


def atomic_with_retry(function: Callable[P, T]) -> Callable[P, T]:
    """Run the decorated function in a transaction, and again after a conflict, `MAX_ATTEMPTS` times at most.

    A conflict is an integrity error (another transaction inserted the same row first), a row that is gone when it is to
    be locked, a deadlock or a serialization failure. The function must be safe to call again.
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(MAX_ATTEMPTS - 1):
            try:
                with transaction.atomic():
                    return function(*args, **kwargs)
            except (IntegrityError, ObjectDoesNotExist):
                pass  # the next attempt finds what the other transaction has committed
            except OperationalError as error:
                if not is_serialization_failure(error):
                    raise
        with transaction.atomic():
            return function(*args, **kwargs)

    return run


def is_serialization_failure(error: OperationalError) -> bool:
    """Return whether PostgreSQL rolled the transaction back in favor of another, so that a retry can succeed."""
    return isinstance(error.__cause__, DeadlockDetected | SerializationFailure)
