"""Replays: sending deliveries again (docs/interface.md, W23).

Staff replay one delivery, the ones that a filter selects, or everything that an endpoint missed in a period; API keys
do so for their own endpoints. A replay keeps the webhook-id, so receivers that remember ids handle the event once, and
it is sent after new deliveries.
"""

from collections import defaultdict
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Now

from foundation.api.exceptions import Conflict, ValidationFailed
from foundation.db.timestamps import now
from foundation.outbox import State, notify_on_commit
from organizations.actors import Actor, actor_columns
from organizations.models import Organization
from webhooks.models import Delivery, Endpoint, Event, Replay
from webhooks.topics import TEST, topics

# The most deliveries of a replay, and the most events of a period that an API key replays. A replay is one transaction,
# and no organization sees newer events until it ends.
MAX_REPLAYED = 10_000
BATCH_SIZE = 5000
RECENT_REPLAYS = 5

# A delivery that waits for its next attempt can be replayed too: once the receiver is repaired, there is no reason to
# wait for the retry schedule.
WAITING_FOR_RETRY = Q(state=State.PENDING, attempt_count__gt=0, lease_token=None)
REPLAYABLE = ~Q(state=State.PENDING) | WAITING_FOR_RETRY

RESET: dict[str, Any] = {
    "state": State.PENDING,
    "attempt_count": 0,
    "claim_count": 0,
    "finished_at": None,
    "lease_token": None,
    "is_replay": True,
}


@transaction.atomic
def replay(*, delivery: Delivery) -> None:
    """Send a delivery again that has ended or waits for its next attempt.

    Raises Conflict if the endpoint is disabled or the delivery is in progress.
    """
    check_enabled(delivery.organization, delivery.endpoint_id)
    replayable = Delivery.objects.of(delivery.organization).filter(REPLAYABLE, pk=delivery.pk)
    if not replayable.update(**RESET, next_attempt_at=Now()):
        raise Conflict("This delivery is already in progress.")
    notify_on_commit(Delivery, delivery.endpoint_id)


@transaction.atomic
def replay_all(*, organization: Organization, actor: Actor, deliveries: QuerySet[Delivery]) -> int:
    """Replay up to `MAX_REPLAYED` deliveries, with one replay per endpoint; return how many.

    Skips those of other organizations, those in progress, and those of disabled endpoints.
    """
    replayable = deliveries.filter(REPLAYABLE, organization=organization, endpoint__is_active=True)
    ids_by_endpoint: defaultdict[UUID, list[UUID]] = defaultdict(list)
    for id, endpoint_id in replayable.order_by("pk").values_list("pk", "endpoint_id")[:MAX_REPLAYED]:
        ids_by_endpoint[endpoint_id].append(id)
    return sum(start_replay(organization, actor, endpoint_id, ids) for endpoint_id, ids in ids_by_endpoint.items())


@transaction.atomic
def replay_since(
    *,
    endpoint: Endpoint,
    actor: Actor,
    since: datetime,
    until: datetime | None = None,
    types: list[str] | None = None,
    is_in_parts: bool = True,
) -> int:
    """Replay what the endpoint missed in a period, up to `MAX_REPLAYED`; return the number of deliveries.

    It missed dead and canceled deliveries, those waiting for a retry, and events without a delivery for it, such as
    those recorded while it was disabled. `types` limits the topics. What is left is replayed by the next call. Raises
    Conflict if the endpoint is disabled, and ValidationFailed if it is not replayed in parts and the period has more
    than `MAX_REPLAYED` events.
    """
    organization, until = endpoint.organization, until or now()
    check_enabled(organization, endpoint.pk)
    # A missed test event is useless later.
    included = set(endpoint.event_types or topics()) & set(types or topics()) - {TEST.name}
    events = Event.objects.of(organization).filter(created_at__gte=since, created_at__lte=until, type__in=included)
    if not is_in_parts and events.order_by()[: MAX_REPLAYED + 1].count() > MAX_REPLAYED:
        text = f"begins a period of more than {MAX_REPLAYED} events; set until to replay a part"
        raise ValidationFailed({"since": [text]})
    failed = Delivery.objects.of(organization).filter(
        Q(state__in=[State.DEAD, State.CANCELED]) | WAITING_FOR_RETRY, endpoint=endpoint, event__in=events
    )
    ids = list(failed.order_by("pk").values_list("pk", flat=True)[:MAX_REPLAYED])
    ids += create_missing(endpoint, events, MAX_REPLAYED - len(ids))
    return start_replay(organization, actor, endpoint.pk, ids, since=since, until=until, event_types=types or [])


def create_missing(endpoint: Endpoint, events: QuerySet[Event], limit: int) -> list[UUID]:
    missed = events.exclude(deliveries__endpoint=endpoint).order_by("created_at", "id").values_list("pk", flat=True)
    # Dead, so that `start_replay` resets them like all others, and the dispatcher doesn't send them as new ones before.
    deliveries = [
        Delivery(
            organization=endpoint.organization,
            endpoint=endpoint,
            event_id=event_id,
            state=State.DEAD,
            next_attempt_at=None,
        )
        for event_id in missed[:limit]
    ]
    # A simultaneous replay may create the same ones: the unique constraint lets the first one win.
    created = Delivery.unscoped.bulk_create(deliveries, batch_size=BATCH_SIZE, ignore_conflicts=True)
    return [delivery.pk for delivery in created]


def start_replay(organization: Organization, actor: Actor, endpoint_id: UUID, ids: list[UUID], **period: object) -> int:
    """Store a replay, reset the deliveries and notify the dispatcher. Returns how many deliveries were reset."""
    columns = {"endpoint_id": endpoint_id, **actor_columns(actor), **period}
    row = Replay.objects.create(organization=organization, **columns)
    # Checked again in the UPDATE: a worker may have claimed some of them since they were selected.
    replayable = Delivery.objects.of(organization).filter(REPLAYABLE, pk__in=ids)
    row.count = replayable.update(**RESET, next_attempt_at=Now(), replay=row)
    row.save(update_fields=["count"])
    notify_on_commit(Delivery, endpoint_id)
    return row.count


def check_enabled(organization: Organization, endpoint_id: UUID) -> None:
    # Read again, because the caller's object may be older than the endpoint's last change.
    endpoint = Endpoint.objects.of(organization).filter(pk=endpoint_id).first()
    if endpoint is None or endpoint.deleted_at:
        raise Conflict("This endpoint was deleted. Its deliveries can't be replayed.")
    if not endpoint.is_active:
        raise Conflict("This endpoint is disabled. Enable it, then replay.")


def recent_replays(endpoint: Endpoint) -> QuerySet[Any]:
    """Return the endpoint's last replays, newest first, with the number of their deliveries by state.

    Superseded deliveries no longer belong to the replay: a later one took them over, or they were pruned.
    """
    replays = Replay.objects.of(endpoint.organization)
    counts = {
        "delivered": Count("deliveries", filter=Q(deliveries__state=State.DONE)),
        "pending": Count("deliveries", filter=Q(deliveries__state=State.PENDING)),
        "failed": Count("deliveries", filter=Q(deliveries__state__in=[State.DEAD, State.CANCELED])),
        "finished": F("count") - F("pending"),
        "superseded": F("finished") - F("delivered") - F("failed"),
    }
    recent = replays.filter(endpoint=endpoint).values("pk")[:RECENT_REPLAYS]
    # Django drops the default order of a query that groups rows.
    return replays.filter(pk__in=recent).annotate(**counts).order_by("-created_at", "-id")


def count_pending_replays(endpoint: Endpoint) -> int:
    pending = Delivery.objects.of(endpoint.organization).filter(endpoint=endpoint, state=State.PENDING, is_replay=True)
    return pending.count()
