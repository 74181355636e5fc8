"""The queue of deliveries: one endpoint's are sent over one connection, and each attempt is kept (decision 32)."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from uuid_utils.compat import uuid7

from pipeline_backend.db.timestamps import now
from pipeline_backend.egress.client import GONE, EndpointClient, SendResult
from pipeline_backend.outbox.queue import Queue
from webhooks.models import Delivery, Endpoint
from webhooks.services import disable
from webhooks.signing import signed_headers

FAILING_FOR = timedelta(days=5)
FAILING_TIMES = 10
SLOW_AFTER_TIMEOUTS = 3


@dataclass
class Waiting:
    """A delivery that is due, with what it takes to send it and no more: making the models' objects costs as much as sending."""

    pk: UUID
    organization_id: UUID
    endpoint_id: UUID
    event_id: UUID
    event__body: str
    attempt_count: int
    claim_count: int
    lease_token: UUID | None

    @classmethod
    def read(cls, due: Any) -> Any:
        """The query of its columns."""
        return due.values_list(*(column.name for column in fields(cls)))


@asynccontextmanager
async def line_to(endpoint: Endpoint) -> AsyncIterator[Callable[[Waiting], Awaitable[SendResult]]]:
    """A connection to the endpoint, as a function that delivers over it."""
    line = EndpointClient(endpoint.url)

    async def deliver(delivery: Waiting) -> SendResult:
        headers = signed_headers(str(delivery.event_id), delivery.event__body, endpoint.signing_secrets())
        return await line.post(delivery.event__body.encode(), headers)

    try:
        yield deliver
    finally:
        line.hang_up()


COLUMNS = """, attempt_id uuid, organization_id uuid, endpoint_id uuid, duration_ms int, status_code int, request_head text, response text"""

# An attempt, and the endpoint's health, in the statement that settles the delivery. While all is well the endpoint's
# row is written at most every ten seconds, so that its deliveries don't wait for each other.
RECORD = """, tried AS (
    INSERT INTO webhooks_attempt (id, organization_id, delivery_id, created_at, duration_ms, status_code, error, request_head, response, is_stale)
    SELECT given.attempt_id, given.organization_id, given.id, statement_timestamp() - given.duration_ms * interval '1 millisecond',
           given.duration_ms, given.status_code, given.error, given.request_head, given.response, settled.id IS NULL
    FROM given {known} settled ON settled.id = given.id
), told AS (
    SELECT endpoint.id, given.error FROM webhooks_endpoint AS endpoint
    JOIN given ON given.endpoint_id = endpoint.id JOIN settled ON settled.id = given.id
    WHERE given.error <> '' OR endpoint.failures > 0 OR endpoint.last_success_at IS NULL
        OR endpoint.last_success_at < statement_timestamp() - interval '10 seconds'
    FOR NO KEY UPDATE OF endpoint {locked}
), health AS (
    UPDATE webhooks_endpoint AS endpoint SET
        failures = CASE WHEN error = '' THEN 0 ELSE failures + 1 END,
        timeouts = CASE WHEN error = 'timeout' THEN timeouts + 1 ELSE 0 END,
        failing_since = CASE WHEN error = '' THEN NULL ELSE coalesce(failing_since, statement_timestamp()) END,
        told_at = CASE WHEN error = '' THEN NULL ELSE told_at END,
        last_success_at = CASE WHEN error = '' THEN statement_timestamp() ELSE last_success_at END
    FROM told WHERE endpoint.id = told.id AND endpoint.id = ANY (ARRAY(SELECT id FROM told))
)"""


def facts_of(delivery: Waiting, sent: SendResult) -> dict[str, Any]:
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
def judge_health(delivery: Waiting, sent: SendResult) -> None:
    """Disable an endpoint that has failed for days, or says that it is gone."""
    endpoint = Endpoint.objects.of(delivery.organization_id).select_for_update(no_key=True).get(pk=delivery.endpoint_id)
    if sent.status_code == GONE:
        disable(endpoint, "The receiver answered 410 Gone")
    elif (
        endpoint.failures >= FAILING_TIMES and endpoint.failing_since and endpoint.failing_since <= now() - FAILING_FOR
    ):
        disable(endpoint, "No delivery succeeded for 5 days")


DELIVERIES = Queue(
    model=Delivery,
    group="endpoint",
    group_model=Endpoint,
    session=line_to,
    open=Q(is_active=True, organization__is_active=True),
    read=Waiting.read,
    job=lambda row: Waiting(*row),
    slow=Q(timeouts__gte=SLOW_AFTER_TIMEOUTS),
    record=RECORD,
    columns=COLUMNS,
    facts=facts_of,
    after_failure=judge_health,
)
