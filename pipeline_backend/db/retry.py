"""Running a transaction once more after it lost a race."""

from collections.abc import Callable
from typing import TypeVar

from django.db import IntegrityError, OperationalError, transaction
from psycopg.errors import DeadlockDetected, SerializationFailure

T = TypeVar("T")


def atomic_with_retry(attempt: Callable[[], T]) -> T:
    """Run a transaction; once more if another inserted the same row first, or PostgreSQL gave it up for a deadlock."""
    try:
        with transaction.atomic():
            return attempt()
    except IntegrityError:
        pass
    except OperationalError as error:
        if not is_serialization_failure(error):
            raise
    with transaction.atomic():
        return attempt()


def is_serialization_failure(error: OperationalError) -> bool:
    """Whether PostgreSQL rolled the transaction back for the sake of another, so that it is worth doing again."""
    return isinstance(error.__cause__, DeadlockDetected | SerializationFailure)
