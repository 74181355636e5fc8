"""Events that wait to be delivered, many at once, as rows."""

from organizations.actors import SYSTEM, actor_columns
from organizations.models import Organization
from pipeline_backend.outbox.models import State
from webhooks.models import Delivery, Endpoint, Event
from webhooks.services import add_endpoint


def endpoint_at(organization: Organization, url: str) -> Endpoint:
    """An endpoint for all events."""
    return add_endpoint(organization=organization, url=url)[0]


def pile(endpoint: Endpoint, count: int, note: str = "") -> list[Delivery]:
    """So many events, due now, that no doorbell has announced."""
    own = {"organization": endpoint.organization, "type": "webhook.test", **actor_columns(SYSTEM)}
    body = f'{{"type":"webhook.test","data":{{"note":"{note}"}}}}'
    events = Event.unscoped.bulk_create([Event(body=body, **own) for _ in range(count)], batch_size=1000)
    deliveries = [Delivery(organization=endpoint.organization, event=event, endpoint=endpoint) for event in events]
    return Delivery.unscoped.bulk_create(deliveries, batch_size=1000)


def states(*endpoints: Endpoint) -> dict[str, int]:
    """How many deliveries are in which state."""
    found = list(Delivery.unscoped.filter(endpoint__in=endpoints).values_list("state", flat=True))
    return {state.value: found.count(state) for state in State if state in found}


def are_done(*endpoints: Endpoint) -> bool:
    """Whether all is delivered."""
    return set(states(*endpoints)) == {State.DONE.value}


def leased() -> int:
    """How many deliveries some worker has in hand, or had when it died."""
    return Delivery.unscoped.filter(lease_token__isnull=False).count()
