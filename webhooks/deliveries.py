"""The queue of deliveries: one endpoint's are sent over one connection, and each attempt is kept (decision 32)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db.models import Q

from pipeline_backend.moments import now
from pipeline_backend.outbox import Queue
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.sending import GONE, Line, Sent
from webhooks.services import disable
from webhooks.signing import signed_headers

FAILING_FOR = timedelta(days=5)
FAILING_TIMES = 10


@contextmanager
def line_to(endpoint: Endpoint) -> Iterator[Callable[[Delivery], Sent]]:
    """A connection to the endpoint, as a function that delivers over it."""
    line = Line(endpoint.url)

    def deliver(delivery: Delivery) -> Sent:
        headers = signed_headers(str(delivery.event_id), delivery.event.body, endpoint.signing_secrets())
        return line.post(delivery.event.body.encode(), headers)

    try:
        yield deliver
    finally:
        line.hang_up()


def note_attempt(delivery: Delivery, sent: Sent, is_ours: bool) -> None:
    """Keep the attempt, and the endpoint's health."""
    Attempt.objects.create(
        organization=delivery.organization,
        delivery=delivery,
        created_at=now() - timedelta(milliseconds=sent.duration_ms),
        duration_ms=sent.duration_ms,
        status_code=sent.status_code,
        error=sent.error,
        response=sent.response,
        is_stale=not is_ours,
    )
    if is_ours:
        note_health(delivery, sent)


def note_health(delivery: Delivery, sent: Sent) -> None:
    """Count failures in a row; disable what has failed for days, or says that it is gone."""
    endpoint = Endpoint.objects.of(delivery.organization).select_for_update(no_key=True).get(pk=delivery.endpoint_id)
    if not sent.error:
        endpoint.failing_since, endpoint.failures, endpoint.last_success_at = None, 0, now()
        endpoint.save(update_fields=["failing_since", "failures", "last_success_at"])
        return
    endpoint.failing_since = endpoint.failing_since or now()
    endpoint.failures += 1
    endpoint.save(update_fields=["failing_since", "failures"])
    if sent.status_code == GONE:
        disable(endpoint, "The receiver answered 410 Gone")
    elif endpoint.failures >= FAILING_TIMES and endpoint.failing_since <= now() - FAILING_FOR:
        disable(endpoint, "No delivery succeeded for 5 days")


DELIVERIES = Queue(
    model=Delivery,
    group="endpoint",
    group_model=Endpoint,
    session=line_to,
    record=note_attempt,
    open=Q(is_active=True, organization__is_active=True),
    related=("event", "organization"),
)
