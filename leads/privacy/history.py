"""The entries of the admin's history about rows, which hold names."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.db.models import QuerySet, TextField

from foundation.db.expressions import is_any_of
from organizations.isolation import bypass_rls

BATCH = 1_000  # entries that are deleted at a time


def entries_about(ids: Sequence[UUID]) -> QuerySet[LogEntry]:
    return LogEntry.objects.filter(is_any_of("object_id", [str(id) for id in ids], TextField)).order_by()


def has_many_entries(ids: Sequence[UUID], limit: int) -> bool:
    with bypass_rls():
        return len(entries_about(ids).values_list("pk")[: limit + 1]) > limit


def forget_history(ids: Sequence[UUID], limit: int, between: tuple[datetime, datetime] | None = None) -> int:
    """Delete up to `limit` entries about rows with these ids, all or those of a time, and return how many.

    Of any model, because a deleted note is known by another one, with the same id.
    """
    # A request's database role sees only entries of colleagues, and may not delete any.
    with bypass_rls():
        entries = entries_about(ids)
        if between:
            entries = entries.filter(action_time__range=between)
        found = list(entries.values_list("pk", flat=True)[:limit])
        return int(LogEntry.objects.filter(pk__in=found).delete()[0]) if found else 0


def forget_all_history(ids: Sequence[UUID]) -> None:
    while forget_history(ids, BATCH):
        pass
