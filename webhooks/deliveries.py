"""The queue of deliveries: one endpoint's are sent over one connection, and each attempt is kept (decision 32)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from uuid_utils.compat import uuid7

from pipeline_backend.moments import now
from pipeline_backend.outbox import Queue
from pipeline_backend.sending import GONE, Line, Sent
from webhooks.models import Delivery, Endpoint
from webhooks.services import disable
from webhooks.signing import signed_headers

FAILING_FOR = timedelta(days=5)
FAILING_TIMES = 10
SLOW_AFTER_TIMEOUTS = 3


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


# An attempt, and the endpoint's health, in the statement that settles the delivery. While all is well the endpoint's
# row is written at most every ten seconds, so that its deliveries don't wait for each other.
RECORD = """, tried AS (
    INSERT INTO webhooks_attempt (id, organization_id, delivery_id, created_at, duration_ms, status_code, error, request_head, response, is_stale)
    VALUES (%(attempt_id)s, %(organization_id)s, %(id)s, statement_timestamp() - %(duration_ms)s * interval '1 millisecond',
            %(duration_ms)s, %(status_code)s, %(error)s, %(request_head)s, %(response)s, NOT EXISTS (SELECT FROM settled))
), health AS (
    UPDATE webhooks_endpoint SET
        failures = CASE WHEN %(error)s = '' THEN 0 ELSE failures + 1 END,
        timeouts = CASE WHEN %(error)s = 'timeout' THEN timeouts + 1 ELSE 0 END,
        failing_since = CASE WHEN %(error)s = '' THEN NULL ELSE coalesce(failing_since, statement_timestamp()) END,
        told_at = CASE WHEN %(error)s = '' THEN NULL ELSE told_at END,
        last_success_at = CASE WHEN %(error)s = '' THEN statement_timestamp() ELSE last_success_at END
    WHERE id = %(endpoint_id)s AND EXISTS (SELECT FROM settled)
        AND (%(error)s <> '' OR failures > 0 OR last_success_at IS NULL
             OR last_success_at < statement_timestamp() - interval '10 seconds')
)"""


def facts_of(delivery: Delivery, sent: Sent) -> dict[str, Any]:
    """What an attempt is remembered by."""
    return {
        "attempt_id": uuid7(),
        "organization_id": delivery.organization_id,
        "endpoint_id": delivery.endpoint_id,
        "duration_ms": sent.duration_ms,
        "status_code": sent.status_code,
        "request_head": sent.request_head,
        "response": sent.response,
    }


@transaction.atomic
def judge_health(delivery: Delivery, sent: Sent) -> None:
    """Disable an endpoint that has failed for days, or says that it is gone."""
    endpoint = Endpoint.objects.of(delivery.organization).select_for_update(no_key=True).get(pk=delivery.endpoint_id)
    if sent.status_code == GONE:
        disable(endpoint, "The receiver answered 410 Gone")
    elif endpoint.failures >= FAILING_TIMES and endpoint.failing_since and endpoint.failing_since <= now() - FAILING_FOR:
        disable(endpoint, "No delivery succeeded for 5 days")


DELIVERIES = Queue(
    model=Delivery,
    group="endpoint",
    group_model=Endpoint,
    session=line_to,
    open=Q(is_active=True, organization__is_active=True),
    slow=Q(timeouts__gte=SLOW_AFTER_TIMEOUTS),
    record=RECORD,
    facts=facts_of,
    after_failure=judge_health,
    related=("event", "organization"),
)
