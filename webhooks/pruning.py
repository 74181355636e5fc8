"""Old deliveries and attempts are deleted; events stay (decision 32)."""

from datetime import timedelta

from django.conf import settings

from organizations.models import Organization
from pipeline_backend.db.timestamps import now
from pipeline_backend.outbox.models import State
from webhooks.models import Delivery

BATCH = 2000


def prune(*, organization: Organization) -> int:
    """Delete the organization's deliveries that ended long ago, in small transactions; how many."""
    before = now() - timedelta(days=settings.KEEP_DELIVERIES_DAYS)
    old = Delivery.objects.of(organization).filter(finished_at__lt=before).exclude(state=State.PENDING).order_by()
    count = 0
    while ids := list(old.values_list("pk", flat=True)[:BATCH]):
        Delivery.objects.of(organization).filter(pk__in=ids).delete()
        count += len(ids)
    return count
