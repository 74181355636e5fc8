"""The entries of the admin's history about rows, which hold names."""

from collections.abc import Sequence
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.db.models import QuerySet

from leads.privacy.rules import AnyModel
from organizations.isolation import bypass_rls


def entries_about(ids: Sequence[UUID]) -> QuerySet[LogEntry]:
    return LogEntry.objects.filter(object_id__in=[str(id) for id in ids]).order_by()


def has_many_entries(ids: Sequence[UUID], limit: int) -> bool:
    with bypass_rls():
        return len(entries_about(ids).values_list("pk")[: limit + 1]) > limit


def forget_history(model: AnyModel, ids: Sequence[UUID], limit: int) -> int:
    """Delete up to `limit` entries about rows of the model, and return how many."""
    label = {"content_type__app_label": model._meta.app_label, "content_type__model": model._meta.model_name}
    # A request's database role sees only entries of colleagues, and may not delete any.
    with bypass_rls():
        found = list(entries_about(ids).filter(**label).values_list("pk", flat=True)[:limit])
        return int(LogEntry.objects.filter(pk__in=found).delete()[0]) if found else 0
