"""Deletion of old deliveries, their attempts and replays. Events are kept (docs/interface.md, W24)."""

from datetime import timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef

from foundation.db.deletes import delete_in_batches
from foundation.db.timestamps import now
from foundation.outbox import State
from organizations.models import Organization
from webhooks.models import Delivery, ReceivingHost, Replay

UNUSED_HOST_AGE = timedelta(days=1)


def prune(*, organization: Organization) -> int:
    """Delete deliveries and replays older than KEEP_DELIVERIES_DAYS, and unused hosts; return how many deliveries."""
    ReceivingHost.objects.of(organization).filter(used_at__lt=now() - UNUSED_HOST_AGE).delete()
    cutoff = now() - timedelta(days=settings.KEEP_DELIVERIES_DAYS)
    # No delivery ends before it is made. So the index on `created_at` finds the old ones without reading the others.
    old = Delivery.objects.of(organization).filter(created_at__lt=cutoff, finished_at__lt=cutoff)
    count = delete_in_batches(old.exclude(state=State.PENDING).order_by("created_at", "id"))
    replays = Replay.objects.of(organization).filter(created_at__lt=cutoff)
    delete_in_batches(replays.exclude(Exists(Delivery.objects.of(organization).filter(replay=OuterRef("pk")))))
    return count
