"""Recording events, and managing endpoints."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import orjson
from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.dispatch import receiver

from foundation.api import request_id
from foundation.api.exceptions import ValidationFailed
from foundation.api.fields import MAX_URL_LENGTH
from foundation.api.sql_serializers import SQLSerializer
from foundation.db.compiled import CompiledQuery, Params, bind
from foundation.db.timestamps import isoformat_z, now
from foundation.egress import BlockedAddress, validate_url
from foundation.outbox import State, notify_on_commit
from organizations.actors import Actor, actor_columns
from organizations.events import event_occurred
from organizations.isolation import TenantModel
from organizations.models import Organization
from organizations.services import check_limit
from organizations.versions import VersionedModel
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.signing import new_secret
from webhooks.topics import TEST, AttributionSerializer, Topic, topics

MAX_WEBHOOK_ENDPOINTS = 20  # per organization: each event adds one row per endpoint
ROTATION_OVERLAP = timedelta(hours=24)
REPORT_FAILURES_AFTER = timedelta(hours=24)
DISABLED_BY_STAFF = "Disabled by staff"

# One statement: a second round trip would cost a booking more than the inserts do. `data_query` selects id and JSON.
INSERT_EVENT = """
WITH subject AS (
    SELECT data.id, data.json {compared}
    FROM ({data_query}) AS data (id, json)
    {comparison}
), event AS (
    INSERT INTO webhooks_event
        (id, organization_id, created_at, type, subject_id, request_id, actor_kind, actor_id, actor_name, body)
    SELECT {event_id}, %s, %s, %s, subject.id, %s, %s, %s, %s, %s || subject.json || {previous} || {attribution} || %s
    FROM subject
    RETURNING id, organization_id, created_at, subject_id, actor_kind, actor_id, actor_name
) {change}
INSERT INTO webhooks_delivery
    (id, organization_id, created_at, event_id, endpoint_id, state, attempts, claims, last_error, is_replay)
SELECT uuidv7(), event.organization_id, event.created_at, event.id, endpoint.id, 'PENDING', 0, 0, '', false
FROM event
JOIN webhooks_endpoint AS endpoint ON endpoint.organization_id = event.organization_id
WHERE endpoint.is_active AND (endpoint.event_types = '{{}}' OR %s = ANY(endpoint.event_types))
RETURNING endpoint_id
"""
# The fields that differ, as JSON: their old values, and their old and new ones. The subject is compared as it is shown,
# so no field is forgotten.
COMPARISON = """
    CROSS JOIN LATERAL (
        SELECT
            ',"previous":' || json_object_agg(old.key, old.value ORDER BY old.position),
            jsonb_object_agg(old.key, json_build_array(old.value, new.value))
        FROM json_each(%s::json) WITH ORDINALITY AS old (key, value, position)
        JOIN json_each(data.json::json) AS new ON new.key = old.key
        WHERE old.key <> ALL (%s) AND old.value::jsonb <> new.value::jsonb
    ) AS comparison (previous, fields)
    WHERE comparison.previous IS NOT NULL
"""
# The UTM columns of the subject's row, as a member of the body.
ATTRIBUTION = """',"attribution":' || (SELECT json_build_object({members})::text FROM {table} WHERE id = subject.id)"""
INSERT_CHANGE = """
, change AS (
    INSERT INTO {table} (id, organization_id, created_at, {column}, actor_kind, actor_id, actor_name, fields)
    SELECT uuidv7(), organization_id, created_at, subject_id, actor_kind, actor_id, actor_name, subject.fields
    FROM event JOIN subject ON subject.id = event.subject_id
)
"""
REPLACE_EVENTS = """
UPDATE webhooks_event
SET type = %s,
    subject_id = %s,
    request_id = '',
    body = json_build_object(
        'type', %s::text,
        'timestamp', body::json -> 'timestamp',
        'organization_id', organization_id,
        'request_id', NULL,
        'data', %s::json,
        'actor', body::json -> 'actor'
    )::text
WHERE organization_id = %s AND id = ANY(%s)
"""


def store_changes(row: VersionedModel, serializer: type[SQLSerializer]) -> str | None:
    """Store a locked row's changes with a new version; return its JSON before, for `record_event`.

    Returns None if no serialized field has changed.
    """
    if not row.is_changed():
        row.save_columns()
        return None
    before = serializer.get_text(row.organization, row.pk)
    row.save_version()
    return before


def record_event(topic: Topic, subject: TenantModel, *, actor: Actor, before: str | None = None) -> None:
    """Store an event and a delivery for each subscribed endpoint, in the caller's transaction (docs/interface.md, W2).

    `before` is the subject's JSON before a change: the old values of differing fields are `previous`; if none differs,
    no event is recorded. A versioned row's old and new values are also stored in its change history. The body is the
    subject as stored now, so call this after all other writes. The dispatcher is notified after the commit.
    """
    comparison = [before, list(topic.serializer.untracked)] if before else []
    query, values = topic.serializer.query_by_id(), {"id": subject.pk}
    insert_events(topic, subject.organization, actor, query, values, comparison)


def record_events(
    topic: Topic, organization: Organization, ids: Sequence[uuid.UUID], *, actor: Actor, previous: str = ""
) -> None:
    """Record the same event of many subjects, as `record_event` does. `previous` is JSON of a change's old values."""
    query, values = topic.serializer.query_by_ids(), {"ids": list(ids)}
    comparison = [previous, []] if previous else []
    insert_events(topic, organization, actor, query, values, comparison, event_id="uuidv7()")


def insert_events(
    topic: Topic,
    organization: Organization,
    actor: Actor,
    query: CompiledQuery[tuple[uuid.UUID, str]],
    values: Mapping[str, object],
    comparison: Params,
    event_id: str = "%s",
) -> None:
    """Insert the event for each subject of the query, with its deliveries; `event_id` is SQL for the events' ids."""
    event, data = build_event(topic, organization, actor), query.statement
    # The database returns `data` as finished JSON text, so the body is put together around it instead of parsing it.
    body_start = orjson.dumps(envelope(event))[:-1].decode() + ',"data":'
    body_end = f',"actor":{orjson.dumps(asdict(actor)).decode()}}}'
    columns = [event.organization_id, event.created_at, event.type, event.request_id, *actor_columns(actor).values()]
    ids = [event.pk] if event_id == "%s" else []
    data_params = bind(data.params, {"organization": organization.pk, **values})
    params = [*data_params, *comparison, *ids, *columns, body_start, body_end, event.type]
    model, change, attribution = topic.serializer.model, "", "''"
    if comparison and issubclass(model, VersionedModel):
        options: Any = model._meta
        foreign_key = options.get_field("changes").remote_field
        change = INSERT_CHANGE.format(table=foreign_key.model._meta.db_table, column=foreign_key.column)
    if topic.has_attribution:
        members = ", ".join(f"'{name}', {name}" for name in AttributionSerializer.fields)
        attribution = ATTRIBUTION.format(members=members, table=model._meta.db_table)
    sql = INSERT_EVENT.format(
        event_id=event_id,
        data_query=data.sql,
        comparison=COMPARISON if comparison else "",
        compared=", comparison.previous, comparison.fields" if comparison else "",
        previous="subject.previous" if comparison else "''",
        attribution=attribution,
        change=change,
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        endpoint_ids = {row[0] for row in cursor.fetchall()}
    for endpoint_id in endpoint_ids:
        notify_on_commit(Delivery, endpoint_id)


@transaction.atomic
def replace_events(
    *, organization: Organization, subject_ids: list[uuid.UUID], topic: Topic, subject: TenantModel, limit: int
) -> int:
    """Turn up to `limit` events about these subjects into events of the topic about `subject`, and return how many.

    They keep their id, time, place in the list and actor. Pending deliveries are canceled, and responses, which can
    repeat what was sent, are emptied. Locks them. Raises DoesNotExist if the subject is gone.
    """
    events = Event.objects.of(organization).filter(subject_id__in=subject_ids).exclude(type=topic.name)
    # Found without an order, which could make PostgreSQL read the events of all subjects in that order.
    found = list(events.order_by().values_list("pk", flat=True)[:limit])
    if not found:
        return 0
    ids = list(events.filter(pk__in=found).order_by("pk").select_for_update().values_list("pk", flat=True))
    deliveries = Delivery.objects.of(organization).filter(event__in=ids)
    # First of all: a worker that is storing a result is waited for, and its attempt is found below.
    canceled = {"state": State.CANCELED, "next_attempt_at": None, "lease_token": None, "finished_at": Now()}
    deliveries.filter(state=State.PENDING).update(**canceled)
    Attempt.objects.of(organization).filter(delivery__in=deliveries).update(response="")
    data = topic.serializer.get_text(organization, subject.pk)
    with connection.cursor() as cursor:
        cursor.execute(REPLACE_EVENTS, [topic.name, subject.pk, topic.name, data, organization.pk, ids])
    return len(found)


@receiver(event_occurred)
def record_by_name(topic: str, **arguments: Any) -> None:
    """Record an event of an app below this one."""
    del arguments["signal"], arguments["sender"]
    record_event(topics()[topic], **arguments)


def build_event(topic: Topic, organization: Organization, actor: Actor) -> Event:
    columns = {"request_id": request_id.current_request_id(), **actor_columns(actor)}
    return Event(organization=organization, type=topic.name, **columns)


def envelope(event: Event) -> dict[str, object]:
    """Return the fields that begin the body of every event, in their order; `data` follows them."""
    return {
        "type": event.type,
        "timestamp": isoformat_z(event.created_at),
        "organization_id": event.organization_id,
        "request_id": event.request_id if event.request_id != request_id.NO_REQUEST else None,
    }


@transaction.atomic
def add_endpoint(
    *,
    organization: Organization,
    url: str,
    description: str = "",
    event_types: list[str] | None = None,
    id: uuid.UUID | None = None,
) -> tuple[Endpoint, str]:
    """Create an endpoint for these event types (none means all), with `id` if given; return it with its signing secret.

    Show the secret now: it is stored encrypted. Locks the organization. Raises ValidationFailed, and Conflict if the
    organization has `MAX_WEBHOOK_ENDPOINTS` endpoints, enabled or not.
    """
    validate_endpoint(url, event_types or [])
    rows, advice = Endpoint.objects.of(organization), "Change one that is no longer needed instead."
    check_limit(
        organization=organization, rows=rows, limit=MAX_WEBHOOK_ENDPOINTS, name="webhook endpoints", advice=advice
    )
    secret = new_secret()
    endpoint = Endpoint.objects.create(
        id=id, organization=organization, url=url, description=description, event_types=event_types or [], secret=secret
    )
    return endpoint, secret


@transaction.atomic
def change_endpoint(
    *, endpoint: Endpoint, url: str, description: str, event_types: list[str], is_active: bool
) -> Endpoint:
    """Change an endpoint, and disable or enable it. Locks the endpoint; raises ValidationFailed.

    Disabling lets the request in progress finish and keeps the other deliveries pending. Enabling clears the failures.
    """
    validate_endpoint(url, event_types)
    stored = Endpoint.objects.of(endpoint.organization).select_for_update().get(pk=endpoint.pk)
    stored.url, stored.description, stored.event_types = url, description, event_types
    if is_active and not stored.is_active:
        stored.disabled_reason, stored.failing_since, stored.failures, stored.timeouts = "", None, 0, 0
        stored.disabled_at = stored.owners_notified_at = None
    if stored.is_active and not is_active:
        stored.disabled_reason, stored.disabled_at = DISABLED_BY_STAFF, now()
        revoke_leases(stored)
    stored.is_active = is_active
    stored.paused_until = None  # the new URL may be at a host that can get more; if not, the next claim pauses it again
    stored.save()
    return stored


def validate_endpoint(url: str, event_types: list[str]) -> None:
    """Raise ValidationFailed unless the URL is a public https address and every type is a topic."""
    try:
        validate_url(url)
    except BlockedAddress:
        raise ValidationFailed({"url": ["must be a public https address"]}) from None
    if len(url) > MAX_URL_LENGTH:
        raise ValidationFailed({"url": [f"must be at most {MAX_URL_LENGTH} characters long"]})
    if not set(event_types) <= set(topics()):
        raise ValidationFailed({"event_types": [f"must be one of: {', '.join(topics())}"]})


@transaction.atomic
def rotate_secret(*, endpoint: Endpoint) -> str:
    """Replace the signing secret and return the new one. For 24 hours both sign. Locks the endpoint."""
    stored = Endpoint.objects.of(endpoint.organization).select_for_update().get(pk=endpoint.pk)
    stored.previous_secret, stored.previous_secret_until = stored.secret, now() + ROTATION_OVERLAP
    stored.secret = new_secret()
    stored.save(update_fields=["secret", "previous_secret", "previous_secret_until"])
    return stored.secret


@transaction.atomic
def send_test(*, endpoint: Endpoint, actor: Actor) -> Event:
    """Record a `webhook.test` event with one delivery, to this endpoint, whatever topics it subscribes to."""
    event = build_event(TEST, endpoint.organization, actor)
    message = f"A test of {endpoint}, sent by {actor.name}."
    event.body = orjson.dumps({**envelope(event), "data": {"message": message}, "actor": asdict(actor)}).decode()
    event.save()
    Delivery.objects.create(organization=event.organization, event=event, endpoint=endpoint)
    notify_on_commit(Delivery, endpoint.pk)
    return event


def disable(endpoint: Endpoint, reason: str) -> None:
    """Disable a failing endpoint and mark its pending deliveries as dead. The caller has locked the endpoint."""
    endpoint.is_active, endpoint.disabled_reason, endpoint.disabled_at = False, reason, now()
    endpoint.save(update_fields=["is_active", "disabled_reason", "disabled_at"])
    pending = Delivery.objects.of(endpoint.organization).filter(endpoint=endpoint, state=State.PENDING)
    # Dead, not pending: when the endpoint is enabled again, staff decide with a replay whether they are still wanted.
    pending.update(
        state=State.DEAD, last_error="endpoint_disabled", next_attempt_at=None, lease_token=None, finished_at=Now()
    )


def revoke_leases(endpoint: Endpoint) -> None:
    """Revoke the leases on the endpoint's deliveries, so that workers skip the rest of the batches they claimed."""
    leased = Delivery.objects.of(endpoint.organization).filter(
        endpoint=endpoint, state=State.PENDING, lease_token__isnull=False
    )
    leased.update(lease_token=None, next_attempt_at=Now())


def take_unreported_failures(*, organization: Organization) -> list[Endpoint]:
    """Return the endpoints whose failure the owners don't know yet, marked as reported.

    They have failed for a day, or were disabled for failing since the last report. Locks them; call it in the
    transaction that queues the report.
    """
    is_failing = Q(is_active=True, failing_since__lte=now() - REPORT_FAILURES_AFTER, owners_notified_at=None)
    is_disabled = (
        Q(is_active=False)
        & ~Q(disabled_reason__in=["", DISABLED_BY_STAFF])
        & (Q(owners_notified_at=None) | Q(owners_notified_at__lt=F("disabled_at")))
    )
    # SKIP LOCKED: an endpoint that another transaction is writing now is left to the next run.
    unlocked = Endpoint.objects.of(organization).select_for_update(skip_locked=True)
    endpoints = list(unlocked.filter(is_failing | is_disabled))
    ids = [endpoint.pk for endpoint in endpoints]
    Endpoint.objects.of(organization).filter(pk__in=ids).update(owners_notified_at=now())
    return endpoints
