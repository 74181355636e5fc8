"""Due deliveries, created in bulk, and queries about them."""

from datetime import timedelta

from django.db.models.functions import Now

from foundation.outbox import State
from organizations.actors import SYSTEM, actor_columns
from organizations.models import Organization
from webhooks.models import Delivery, Endpoint, Event
from webhooks.services import add_endpoint


def make_endpoint(organization: Organization, url: str) -> Endpoint:
    """Create an endpoint for all events."""
    return add_endpoint(organization=organization, url=url)[0]


def make_backlog(endpoint: Endpoint, count: int, note: str = "", age: timedelta = timedelta()) -> list[Delivery]:
    """Create deliveries that have been due for `age`, without notifying a worker."""
    common = {"organization": endpoint.organization, "type": "webhook.test", **actor_columns(SYSTEM)}
    body = f'{{"type":"webhook.test","data":{{"note":"{note}"}}}}'
    events = Event.unscoped.bulk_create([Event(body=body, **common) for _ in range(count)], batch_size=1000)
    common = {"organization": endpoint.organization, "endpoint": endpoint, "next_attempt_at": Now() - age}
    deliveries = [Delivery(event=event, **common) for event in events]
    return Delivery.unscoped.bulk_create(deliveries, batch_size=1000)


def count_by_state(*endpoints: Endpoint) -> dict[str, int]:
    """Return the number of deliveries in each state that occurs."""
    states = list(Delivery.unscoped.filter(endpoint__in=endpoints).values_list("state", flat=True))
    return {state.value: states.count(state) for state in State if state in states}


def all_delivered(*endpoints: Endpoint) -> bool:
    """Return True if every delivery of the endpoints is done."""
    return set(count_by_state(*endpoints)) == {State.DONE.value}


def count_leased() -> int:
    """Return the number of deliveries that some worker has claimed and not finished."""
    return Delivery.unscoped.filter(lease_token__isnull=False).count()
