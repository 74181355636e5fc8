"""The queue of webhook deliveries: sends an endpoint's events, several at once, and stores every attempt.

Retries follow `RETRY_SCHEDULE` (foundation/outbox/models.py).
"""

from collections.abc import Iterable
from datetime import timedelta
from functools import lru_cache
from http import HTTPStatus
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import transaction
from django.db.models import Case, Func, IntegerField, Q, QuerySet, When
from uuid_utils.compat import uuid7

from foundation.db.timestamps import now
from foundation.outbox import Queue, Result
from foundation.outbox.queue import GroupId
from webhooks.models import Delivery, Endpoint, Event
from webhooks.receiving_host_limit import ReceivingHostLimit
from webhooks.services import disable
from webhooks.signing import signed_headers

if TYPE_CHECKING:
    from foundation.egress.client import EndpointClient

FAILING_FOR = timedelta(days=5)
FAILING_TIMES = 10
SLOW_AFTER_TIMEOUTS = 3
# Bytes of the bodies that a worker has in memory for an endpoint; longer ones than `SHORT_BODY` are read separately.
MAX_BATCH_BYTES, SHORT_BODY = 512 * 1024, 20_000
SLOW_PART = 3  # an attempt that takes more than a third of the deadline counts as a timeout, whatever its result


RESULT_COLUMNS = """,
        attempt_id uuid, organization_id uuid, endpoint_id uuid,
        is_slow boolean, duration_ms int, status_code int, request_head text, response text"""

# Additional CTEs of the statement that stores results (outbox/models.py): insert attempts, update endpoint health.
# On success an endpoint's row is touched at most every 10 s, so that its deliveries don't wait for each other.
# Raw SQL uses the columns' names: `told_at` is the model's `owners_notified_at`.
RESULT_CTES = """, new_attempts AS (
    INSERT INTO webhooks_attempt (
        id, organization_id, delivery_id, created_at, duration_ms,
        status_code, error, request_head, response, is_stale
    )
    SELECT
        input.attempt_id, input.organization_id, input.id,
        statement_timestamp() - input.duration_ms * interval '1 millisecond', input.duration_ms,
        input.status_code, input.error, input.request_head,
        -- A response can repeat personal data, and the lead may have been erased since the request was sent.
        CASE WHEN updated.id IS NULL THEN '' ELSE input.response END, updated.id IS NULL
    FROM input
    {join} updated ON updated.id = input.id
    -- A delivery can have been deleted since it was claimed: by a reset, or with its endpoint. Not EXISTS, for which
    -- PostgreSQL may read the whole table.
    WHERE COALESCE(
        updated.id, (SELECT delivery.id FROM webhooks_delivery AS delivery WHERE delivery.id = input.id)
    ) IS NOT NULL
), changed_endpoints AS (
    SELECT endpoint.id, input.error, input.is_slow
    FROM webhooks_endpoint AS endpoint
    JOIN input ON input.endpoint_id = endpoint.id
    JOIN updated ON updated.id = input.id
    WHERE input.error <> ''
        OR input.is_slow
        OR endpoint.failures > 0
        OR endpoint.timeouts > 0
        OR endpoint.last_success_at IS NULL
        OR endpoint.last_success_at < statement_timestamp() - interval '10 seconds'
    FOR NO KEY UPDATE OF endpoint {lock_clause}
), endpoint_health AS (
    UPDATE webhooks_endpoint AS endpoint
    SET failures = CASE WHEN error = '' THEN 0 ELSE failures + 1 END,
        timeouts = CASE WHEN is_slow THEN timeouts + 1 ELSE 0 END,
        failing_since = CASE WHEN error = '' THEN NULL ELSE coalesce(failing_since, statement_timestamp()) END,
        told_at = CASE WHEN error = '' THEN NULL ELSE told_at END,
        last_success_at = CASE WHEN error = '' THEN statement_timestamp() ELSE last_success_at END
    FROM changed_endpoints
    WHERE endpoint.id = changed_endpoints.id AND endpoint.id = ANY (ARRAY(SELECT id FROM changed_endpoints))
)"""


class WebhookQueue(Queue[Endpoint, Delivery, "EndpointClient"]):
    name, label = "webhooks", "webhook deliveries"
    model = Delivery
    group_field, group_model = "endpoint", Endpoint
    related = ("event",)
    enabled = Q(is_active=True, organization__is_active=True)
    slow = Q(timeouts__gte=SLOW_AFTER_TIMEOUTS)
    limit = ReceivingHostLimit()
    result_ctes, result_columns = RESULT_CTES, RESULT_COLUMNS

    def owner_of(self, group_id: GroupId) -> GroupId:
        return find_organization(group_id) or group_id

    def select_jobs(self, due: QuerySet) -> QuerySet:
        size = Func("event__body", function="octet_length", output_field=IntegerField())
        short = Case(When(size__lte=SHORT_BODY, then="event__body"))
        return due.select_related("event").defer("event__body").annotate(size=size, short_body=short)

    def complete_jobs(self, jobs: list[Any]) -> list[Delivery]:
        """Return the first deliveries with `MAX_BATCH_BYTES` of bodies in all, or the first one."""
        ends = accumulate(delivery.size for delivery in jobs)
        count = max(1, sum(end <= MAX_BATCH_BYTES for end in ends))
        chosen = jobs[:count]
        long = [delivery.event_id for delivery in chosen if delivery.short_body is None]
        bodies = dict(Event.unscoped.filter(pk__in=long).values_list("pk", "body")) if long else {}
        for delivery in chosen:
            delivery.event.body = bodies.get(delivery.event_id, delivery.short_body)
            delivery.is_cut = count < len(jobs)
        return chosen

    def is_same_receiver(self, before: Endpoint, after: Endpoint) -> bool:
        return before.url == after.url

    def leaves_memory(self, in_flight: Iterable[Any]) -> bool:
        return sum(delivery.size for delivery in in_flight) <= MAX_BATCH_BYTES // 4

    def is_cut(self, jobs: list[Any]) -> bool:
        return bool(jobs[0].is_cut)

    def open_session(self, endpoint: Endpoint) -> "EndpointClient":
        from foundation.egress.client import EndpointClient  # noqa: PLC0415  # slow, and only workers need it

        requests = settings.WEBHOOK_REQUESTS_PER_ENDPOINT
        return EndpointClient(endpoint.url, connections=requests, owner=endpoint.organization_id)

    async def send(self, client: "EndpointClient", endpoint: Endpoint, delivery: Delivery) -> Result:
        headers = signed_headers(str(delivery.event_id), delivery.event.body, endpoint.signing_secrets())
        return await client.post(delivery.event.body.encode(), headers)

    def requests_at_once(self, endpoint: Endpoint) -> int:
        """Return 1 after a failure, so that a receiver in trouble gets no more than one request at a time."""
        return 1 if endpoint.failures else settings.WEBHOOK_REQUESTS_PER_ENDPOINT

    def result_values(self, delivery: Delivery, result: Result) -> dict[str, object]:
        return {
            "attempt_id": uuid7(),
            "organization_id": delivery.organization_id,
            "endpoint_id": delivery.endpoint_id,
            "is_slow": result.duration_ms * SLOW_PART > settings.DELIVERY_DEADLINE_SECONDS * 1000,
            "duration_ms": result.duration_ms,
            "status_code": result.status_code,
            "request_head": result.request_head,
            "response": result.response,
        }

    def log_values(self, delivery: Delivery) -> dict[str, object]:
        event = delivery.event
        return {
            "organization": delivery.organization_id,
            "request_id": event.request_id,
            "endpoint": delivery.endpoint_id,
            "event": event.type,
            "event_id": event.pk,
        }

    @transaction.atomic
    def after_failure(self, delivery: Delivery, result: Result) -> bool:
        """Disable an endpoint that has answered 410, or that has failed for days. Locks the endpoint.

        Returns False if it is disabled or belongs to the slow lane.
        """
        endpoints = Endpoint.objects.of(delivery.organization_id)
        endpoint = endpoints.select_for_update(no_key=True).get(pk=delivery.endpoint_id)
        has_failed_often = endpoint.failures >= FAILING_TIMES
        if result.status_code == HTTPStatus.GONE:
            disable(endpoint, "The receiver answered 410 Gone")
        elif has_failed_often and endpoint.failing_since and endpoint.failing_since <= now() - FAILING_FOR:
            disable(endpoint, "No delivery succeeded for 5 days")
        return endpoint.is_active and endpoint.timeouts < SLOW_AFTER_TIMEOUTS


@lru_cache(maxsize=10_000)
def find_organization(endpoint_id: GroupId) -> GroupId | None:
    """Return the id of the endpoint's organization, which never changes, or None if the endpoint is gone."""
    return Endpoint.unscoped.filter(pk=endpoint_id).values_list("organization_id", flat=True).first()


DELIVERIES = WebhookQueue()
