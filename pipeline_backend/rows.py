"""Inserting rows that others may be inserting at the same moment."""

from collections.abc import Callable
from typing import TypeVar

from django.db import IntegrityError, OperationalError, models, transaction
from psycopg.errors import DeadlockDetected, SerializationFailure

Row = TypeVar("Row", bound=models.Model)
Answer = TypeVar("Answer")


def find_or_insert(found: "models.QuerySet[Row]", fresh: Row) -> tuple[Row, bool]:
    """The row that `found` selects, or `fresh`; True if it was inserted here.

    The insert yields to a simultaneous one (ON CONFLICT DO NOTHING), and reading again tells who won: the winner's id.
    """
    row = found.first()
    if row is not None:
        return row, False
    type(fresh)._base_manager.bulk_create([fresh], ignore_conflicts=True)
    row = found.get()
    return row, row.pk == fresh.pk


def settle_race(attempt: Callable[[], Answer]) -> Answer:
    """Run a transaction; once more if another inserted the same row first, or PostgreSQL gave it up for a deadlock."""
    try:
        with transaction.atomic():
            return attempt()
    except IntegrityError:
        pass
    except OperationalError as error:
        if not isinstance(error.__cause__, DeadlockDetected | SerializationFailure):
            raise
    with transaction.atomic():
        return attempt()
