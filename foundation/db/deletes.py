"""Deletion of many rows in short transactions."""

from collections.abc import Callable

from django.db import models, transaction

BATCH_SIZE = 2000


def delete_in_batches(
    rows: models.QuerySet[models.Model], is_over: Callable[[], bool] | None = None, size: int = BATCH_SIZE
) -> int:
    """Delete these rows, with what belongs to them, in transactions of `size` rows. Returns how many.

    Locks are short, and an interrupted run keeps its progress. Rows that are locked are skipped. Stops once `is_over`,
    which is called after each transaction, returns True.
    """
    count = 0
    while deleted := delete_batch(rows, size):
        count += deleted
        if is_over and is_over():
            break
    return count


@transaction.atomic
def delete_batch(rows: models.QuerySet[models.Model], size: int) -> int:
    """Delete the first rows. They are locked, so a row that has changed meanwhile is kept if it no longer matches."""
    ids = list(rows.select_for_update(skip_locked=True).values_list("pk", flat=True)[:size])
    rows.filter(pk__in=ids).order_by().delete()
    return len(ids)
