"""Recording events, and what is done to endpoints and deliveries."""

import uuid
from datetime import timedelta
from typing import Any

import orjson
from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from organizations.actors import Actor, actor_columns
from organizations.models import Organization
from pipeline_backend.api import request_id
from pipeline_backend.api.exceptions import ValidationFailed
from pipeline_backend.api.fields import MAX_URL_LENGTH
from pipeline_backend.db.compiled import bind
from pipeline_backend.db.timestamps import isoformat_z, now
from pipeline_backend.egress.ssrf import BlockedAddress, validate_url
from pipeline_backend.outbox.models import State
from pipeline_backend.outbox.wakeup import WakeUp
from webhooks.models import Delivery, Endpoint, Event
from webhooks.signing import new_secret
from webhooks.topics import TEST, Topic, topics

ROTATION_OVERLAP = timedelta(hours=24)
WARN_AFTER = timedelta(hours=24)
DISABLED_BY_STAFF = "Disabled by staff"
WAKE_UP_TASK = "webhooks.drain"
RECORD = """
WITH event AS (
    INSERT INTO webhooks_event (id, organization_id, created_at, type, subject_id, request_id, actor_kind, actor_id, actor_name, body)
    SELECT %s, %s, %s, %s, %s::uuid, %s, %s, %s, %s, %s || data || %s FROM ({data}) AS subject (id, data)
    RETURNING id, organization_id, created_at
)
INSERT INTO webhooks_delivery (id, organization_id, created_at, event_id, endpoint_id, state, attempts, claims, last_error, is_replay)
SELECT uuidv7(), event.organization_id, event.created_at, event.id, endpoint.id, 'PENDING', 0, 0, '', false
FROM event JOIN webhooks_endpoint AS endpoint ON endpoint.organization_id = event.organization_id
WHERE {which} RETURNING endpoint_id
"""
SUBSCRIBED = "endpoint.is_active AND (endpoint.event_types = '{}' OR %s = ANY(endpoint.event_types))"
ONE_ENDPOINT = "endpoint.id = %s"


def record_event(event_type: Topic, subject: Any, *, actor: Actor, previous: dict[str, Any] | None = None) -> None:
    """Write an event and a delivery for each endpoint that wants it, in the transaction of the change (decision 30).

    `previous` holds the old values of the fields that changed. Call it last: the body is the object as it is now.
    """
    event = _build_event(event_type, subject.organization, actor, subject.pk)
    data, slots = event_type.serializer.row().sql
    _insert_event(
        event,
        (data, bind(slots, {"organization": subject.organization.pk, "id": subject.pk})),
        SUBSCRIBED,
        [event_type.name],
        previous,
    )


def _build_event(
    event_type: Topic, organization: Organization, actor: Actor, subject_id: uuid.UUID | None = None
) -> Event:
    """The event's row but for its body, not stored yet."""
    return Event(
        organization=organization,
        type=event_type.name,
        subject_id=subject_id,
        request_id=request_id.current_request_id(),
        **actor_columns(actor),
    )


def _insert_event(
    event: Event,
    data: tuple[str, list[Any]],
    which: str,
    which_values: list[Any],
    previous: dict[str, Any] | None = None,
) -> None:
    """The event's row and its deliveries' rows in one statement, and a ring at each endpoint after the commit.

    `data` is a statement that selects an id and JSON: the body's bytes are made here, once, around that JSON.
    """
    head = {"type": event.type, "timestamp": isoformat_z(event.created_at), "organization_id": event.organization_id}
    before = orjson.dumps(head)[:-1].decode() + ',"data":'
    after = "}" if previous is None else f',"previous":{orjson.dumps(previous).decode()}}}'
    facts: list[Any] = [
        event.pk,
        event.organization_id,
        event.created_at,
        event.type,
        event.subject_id,
        event.request_id,
    ]
    who = [event.actor_kind, event.actor_id, event.actor_name]
    with connection.cursor() as cursor:
        cursor.execute(RECORD.format(data=data[0], which=which), [*facts, *who, before, after, *data[1], *which_values])
        endpoints = cursor.fetchall()
    for (endpoint_id,) in endpoints:
        WakeUp.ring(WAKE_UP_TASK, endpoint_id)


def feed(
    *, organization: Organization, after: uuid.UUID | None, types: list[str], limit: int
) -> tuple[list[dict[str, Any]], bool]:
    """The organization's events, oldest first, and whether there are more (decision 35)."""
    events = Event.objects.of(organization).visible()
    if after:
        last = Event.objects.of(organization).filter(pk=after).first()
        if last is None:
            raise ValidationFailed({"after": ["is not known in the organization"]})
        events = events.after(last)
    if types:
        events = events.filter(type__in=types)
    rows = list(events.values_list("id", "body")[: limit + 1])
    return [{"id": id, **orjson.loads(body)} for id, body in rows[:limit]], len(rows) > limit


@transaction.atomic
def add_endpoint(
    *, organization: Organization, url: str, description: str = "", types: list[str] | None = None
) -> tuple[Endpoint, str]:
    """Register a receiver; the secret is in the answer and nowhere else to be read (decision 33)."""
    validate_endpoint(url, types or [])
    secret = new_secret()
    endpoint = Endpoint.objects.create(
        organization=organization, url=url, description=description, event_types=types or [], secret=secret
    )
    return endpoint, secret


@transaction.atomic
def change_endpoint(*, endpoint: Endpoint, url: str, description: str, types: list[str], is_active: bool) -> Endpoint:
    """Change a receiver. Disabling stops what is under way after the request in flight; enabling clears its failures."""
    validate_endpoint(url, types)
    stored = Endpoint.objects.of(endpoint.organization).select_for_update().get(pk=endpoint.pk)
    stored.url, stored.description, stored.event_types = url, description, types
    if is_active and not stored.is_active:
        stored.disabled_reason, stored.failing_since, stored.failures, stored.timeouts = "", None, 0, 0
        stored.disabled_at = stored.owners_notified_at = None
    if stored.is_active and not is_active:
        stored.disabled_reason, stored.disabled_at = DISABLED_BY_STAFF, now()
        revoke_leases(stored)
    stored.is_active = is_active
    stored.save()
    return stored


def validate_endpoint(url: str, types: list[str]) -> None:
    """400 for an address that is not public https, or a type nobody knows."""
    try:
        validate_url(url)
    except BlockedAddress:
        raise ValidationFailed({"url": ["must be a public https address"]}) from None
    if len(url) > MAX_URL_LENGTH:
        raise ValidationFailed({"url": [f"must be at most {MAX_URL_LENGTH} characters long"]})
    if not set(types) <= set(topics()):
        raise ValidationFailed({"event_types": [f"must be one of: {', '.join(topics())}"]})


@transaction.atomic
def rotate_secret(*, endpoint: Endpoint) -> str:
    """A new secret; the old one signs beside it for 24 hours."""
    stored = Endpoint.objects.of(endpoint.organization).select_for_update().get(pk=endpoint.pk)
    stored.previous_secret, stored.previous_secret_until = stored.secret, now() + ROTATION_OVERLAP
    stored.secret = new_secret()
    stored.save(update_fields=["secret", "previous_secret", "previous_secret_until"])
    return stored.secret


@transaction.atomic
def send_test(*, endpoint: Endpoint, actor: Actor) -> Event:
    """A `webhook.test` event to this endpoint alone."""
    data = orjson.dumps({"message": f"A test of {endpoint}, sent by {actor.name}."}).decode()
    event = _build_event(TEST, endpoint.organization, actor)
    _insert_event(event, ("SELECT NULL, %s::text", [data]), ONE_ENDPOINT, [endpoint.pk])
    return event


def disable(endpoint: Endpoint, reason: str) -> None:
    """Stop sending; what is still to be sent is dead, and can be replayed."""
    endpoint.is_active, endpoint.disabled_reason, endpoint.disabled_at = False, reason, now()
    endpoint.save(update_fields=["is_active", "disabled_reason", "disabled_at"])
    pending = Delivery.objects.of(endpoint.organization).filter(endpoint=endpoint, state=State.PENDING)
    pending.update(
        state=State.DEAD, last_error="endpoint_disabled", next_attempt_at=None, lease_token=None, finished_at=Now()
    )


def revoke_leases(endpoint: Endpoint) -> None:
    """End the leases on the endpoint's deliveries, so that workers let go of the rest of their batches."""
    pending = Delivery.objects.of(endpoint.organization).filter(
        endpoint=endpoint, state=State.PENDING, lease_token__isnull=False
    )
    pending.update(lease_token=None, next_attempt_at=Now())


def take_unreported_failures(*, organization: Organization) -> list[Endpoint]:
    """The organization's endpoints that have failed for a day, or were disabled for failing, and nobody was told; now told."""
    rows = Endpoint.objects.of(organization).select_for_update(skip_locked=True)
    is_failing = Q(is_active=True, failing_since__lte=now() - WARN_AFTER, owners_notified_at=None)
    is_given_up = (
        Q(is_active=False)
        & ~Q(disabled_reason__in=["", DISABLED_BY_STAFF])
        & (Q(owners_notified_at=None) | Q(owners_notified_at__lt=F("disabled_at")))
    )
    found = list(rows.filter(is_failing | is_given_up))
    Endpoint.objects.of(organization).filter(pk__in=[endpoint.pk for endpoint in found]).update(
        owners_notified_at=now()
    )
    return found
