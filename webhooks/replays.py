"""Sending again: one delivery, a range of them, or all that an endpoint has missed (decision 32).

A replay keeps its webhook-id, so receivers that remember ids take it once. Replays wait behind fresh deliveries.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now

from organizations.actors import Actor, actor_columns
from organizations.models import Organization
from pipeline_backend.api.exceptions import Conflict
from pipeline_backend.db.timestamps import now
from pipeline_backend.outbox.models import State
from pipeline_backend.outbox.wakeup import WakeUp
from webhooks.models import Delivery, Endpoint, Event, Replay
from webhooks.services import WAKE_UP_TASK
from webhooks.topics import topics

BATCH = 5000
SHOWN = 5
# Those that wait for their next attempt: whoever has mended the receiver need not wait for it, too.
RETRYING = Q(state=State.PENDING, attempts__gt=0, lease_token=None)
ENDED = ~Q(state=State.PENDING)
RESET: dict[str, Any] = {
    "state": State.PENDING,
    "attempt_count": 0,
    "claim_count": 0,
    "finished_at": None,
    "lease_token": None,
    "is_replay": True,
}


class NotReplayable(Conflict):
    """The delivery was not tried yet, or is being sent."""

    message = "This delivery is on its way just now"


class EndpointDisabled(Conflict):
    """Nothing is sent to the endpoint."""

    message = "This endpoint is disabled: enable it, then replay"


@dataclass(frozen=True)
class Progress:
    """A replay, and what has become of its deliveries; some may have been sent again by a later one."""

    replay: Replay
    delivered: int
    left: int
    failed: int

    @property
    def elsewhere(self) -> int:
        """Those that a later replay has taken over, or that were deleted since."""
        return self.replay.count - self.delivered - self.left - self.failed

    @property
    def ended(self) -> int:
        """Those that nothing more happens to."""
        return self.replay.count - self.left


@transaction.atomic
def replay(*, delivery: Delivery) -> Delivery:
    """Send a delivery again that has ended, or waits for its next attempt."""
    if not is_enabled(delivery.organization, delivery.endpoint_id):
        raise EndpointDisabled
    free = Delivery.objects.of(delivery.organization).filter(ENDED | RETRYING, pk=delivery.pk)
    if not free.update(**RESET, next_attempt_at=Now()):
        raise NotReplayable
    WakeUp.ring(WAKE_UP_TASK, delivery.endpoint_id)
    delivery.refresh_from_db()
    return delivery


@transaction.atomic
def replay_all(*, organization: Organization, actor: Actor, chosen: QuerySet[Any]) -> int:
    """Send the organization's chosen deliveries again that are not on their way just now; how many. Each endpoint has its replay."""
    free = chosen.filter(ENDED | RETRYING, organization=organization, endpoint__is_active=True)
    chosen_of: defaultdict[Any, list[Any]] = defaultdict(list)
    for id, endpoint_id in free.order_by().values_list("pk", "endpoint_id"):
        chosen_of[endpoint_id].append(id)
    return sum(start_replay(organization, actor, endpoint_id, ids) for endpoint_id, ids in chosen_of.items())


@transaction.atomic
def replay_since(
    *, endpoint: Endpoint, actor: Actor, since: datetime, until: datetime | None = None, types: list[str] | None = None
) -> int:
    """Send everything of a time that the endpoint has not got: dead deliveries, those that are to be tried again, and events while it was disabled."""
    organization, until = endpoint.organization, until or now()
    if not is_enabled(organization, endpoint.pk):
        raise EndpointDisabled
    wanted = set(endpoint.event_types or topics()) & set(types or topics()) - {"webhook.test"}
    events = Event.objects.of(organization).filter(created_at__gte=since, created_at__lte=until, type__in=wanted)
    failed = Delivery.objects.of(organization).filter(
        Q(state__in=[State.DEAD, State.CANCELED]) | RETRYING, endpoint=endpoint, event__in=events
    )
    ids = [*failed.values_list("pk", flat=True), *create_missing(endpoint, events)]
    return start_replay(organization, actor, endpoint.pk, ids, since=since, until=until, event_types=types or [])


def create_missing(endpoint: Endpoint, events: QuerySet[Any]) -> list[Any]:
    """Deliveries, made now, of the events that the endpoint has none of; as if they had been given up."""
    missed = events.exclude(deliveries__endpoint=endpoint).order_by("created_at", "id").values_list("pk", flat=True)
    own = {"organization": endpoint.organization, "endpoint": endpoint, "state": State.DEAD, "next_attempt_at": None}
    rows = [Delivery(event_id=event, **own) for event in missed]
    made = Delivery.unscoped.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)
    return [row.pk for row in made]


def start_replay(organization: Organization, actor: Actor, endpoint_id: Any, ids: list[Any], **asked: Any) -> int:
    """Write down what was asked, and send these deliveries of one endpoint again; how many."""
    row = Replay.objects.create(organization=organization, endpoint_id=endpoint_id, **actor_columns(actor), **asked)
    changed = Delivery.objects.of(organization).filter(ENDED | RETRYING, pk__in=ids)
    row.count = changed.update(**RESET, next_attempt_at=Now(), replay=row)
    row.save(update_fields=["count"])
    WakeUp.ring(WAKE_UP_TASK, endpoint_id)
    return row.count


def is_enabled(organization: Organization, endpoint_id: Any) -> bool:
    """Whether anything is sent to the endpoint."""
    is_active: bool = Endpoint.objects.of(organization).filter(pk=endpoint_id, is_active=True).exists()
    return is_active


def recent_progress(endpoint: Endpoint) -> list[Progress]:
    """How the endpoint's last replays are getting on, the newest first."""
    replays = list(Replay.objects.of(endpoint.organization).filter(endpoint=endpoint)[:SHOWN])
    found = Delivery.objects.of(endpoint.organization).filter(replay__in=replays).order_by()
    counts = {(id, state): count for id, state, count in found.values_list("replay_id", "state").annotate(Count("pk"))}

    def in_state(row: Replay, *states: State) -> int:
        return sum(counts.get((row.pk, state), 0) for state in states)

    return [
        Progress(
            row, in_state(row, State.DONE), in_state(row, State.PENDING), in_state(row, State.DEAD, State.CANCELED)
        )
        for row in replays
    ]


def count_pending_replays(endpoint: Endpoint) -> int:
    """How many replays are still to be sent."""
    left: int = (
        Delivery.objects.of(endpoint.organization)
        .filter(endpoint=endpoint, state=State.PENDING, is_replay=True)
        .count()
    )
    return left
