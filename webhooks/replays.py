"""Sending again: one delivery, a range of them, or all that an endpoint has missed (decision 32).

A replay keeps its webhook-id, so receivers that remember ids take it once. Replays wait behind fresh deliveries.
"""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from organizations.models import Organization
from pipeline_backend.api.exceptions import Conflict
from pipeline_backend.outbox import Doorbell, State
from webhooks.catalogue import event_types
from webhooks.models import Delivery, Endpoint, Event
from webhooks.services import DRAIN

BATCH = 5000
AGAIN: dict[str, Any] = {"state": State.PENDING, "attempts": 0, "claims": 0, "finished_at": None, "lease_token": None, "is_replay": True}


class NotReplayable(Conflict):
    """The delivery is on its way already."""

    message = "This delivery is still on its way; only finished ones can be replayed"


@transaction.atomic
def replay(*, delivery: Delivery) -> Delivery:
    """Send a finished delivery again."""
    if not replay_all(organization=delivery.organization, chosen=Delivery.objects.of(delivery.organization).filter(pk=delivery.pk)):
        raise NotReplayable
    delivery.refresh_from_db()
    return delivery


@transaction.atomic
def replay_all(*, organization: Organization, chosen: QuerySet[Any]) -> int:
    """Send the finished ones among the organization's chosen deliveries again; how many."""
    finished = chosen.filter(organization=organization, endpoint__is_active=True).exclude(state=State.PENDING)
    ids = list(finished.order_by().values_list("pk", flat=True))
    changed = Delivery.objects.of(organization).filter(pk__in=ids).exclude(state=State.PENDING)
    endpoints = set(changed.values_list("endpoint_id", flat=True))
    count: int = changed.update(**AGAIN, next_attempt_at=Now())
    for endpoint_id in endpoints:
        Doorbell.ring(DRAIN, endpoint_id)
    return count


@transaction.atomic
def replay_since(*, endpoint: Endpoint, since: datetime, until: datetime | None = None) -> int:
    """Send everything of a time that the endpoint has not got: dead deliveries, and events while it was disabled."""
    organization = endpoint.organization
    events = Event.objects.of(organization).filter(created_at__gte=since, type__in=endpoint.event_types or list(event_types()))
    if until:
        events = events.filter(created_at__lte=until)
    missed = list(events.exclude(type="webhook.test").exclude(deliveries__endpoint=endpoint).order_by("created_at", "id").values_list("pk", flat=True))
    rows = [Delivery(organization=organization, event_id=event, endpoint=endpoint, is_replay=True) for event in missed]
    Delivery.unscoped.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)
    dead = Delivery.objects.of(organization).filter(endpoint=endpoint, event__in=events, state__in=[State.DEAD, State.CANCELED])
    count = len(rows) + replay_all(organization=organization, chosen=dead)
    Doorbell.ring(DRAIN, endpoint.pk)
    return count


def replays_left(endpoint: Endpoint) -> int:
    """How many replays are still to be sent."""
    left: int = Delivery.objects.of(endpoint.organization).filter(endpoint=endpoint, state=State.PENDING, is_replay=True).count()
    return left
