"""Deletion of old deliveries and their attempts. Events are kept (docs/interface.md, W24)."""

from datetime import timedelta

from django.conf import settings

from organizations.models import Organization
from pipeline_backend.db.timestamps import now
from pipeline_backend.outbox import State
from webhooks.models import Delivery, ReceivingHost

BATCH_SIZE = 2000
UNUSED_HOST_AGE = timedelta(days=1)


def prune(*, organization: Organization) -> int:
    """Delete deliveries that ended more than KEEP_DELIVERIES_DAYS days ago, with their attempts. Returns how many.

    Also deletes the hosts whose limit has nothing to count any more.
    """
    ReceivingHost.objects.of(organization).filter(used_at__lt=now() - UNUSED_HOST_AGE).delete()
    cutoff = now() - timedelta(days=settings.KEEP_DELIVERIES_DAYS)
    # The condition on created_at follows from that on finished_at, which no index has.
    old = Delivery.objects.of(organization).filter(created_at__lt=cutoff, finished_at__lt=cutoff)
    old = old.exclude(state=State.PENDING).order_by("created_at", "id")
    count = 0
    # Each batch is a transaction of its own, so that the row locks are short and an interrupted run keeps its progress.
    while ids := list(old.values_list("pk", flat=True)[:BATCH_SIZE]):
        Delivery.objects.of(organization).filter(pk__in=ids).delete()
        count += len(ids)
    return count
