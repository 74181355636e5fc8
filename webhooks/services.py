"""Managing endpoints, reporting those that fail, and deletion of old deliveries. API keys use `key_endpoints`."""

import uuid
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import orjson
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Now

from foundation.api.exceptions import ValidationFailed
from foundation.api.fields import MAX_URL_LENGTH
from foundation.db.deletes import delete_in_batches
from foundation.db.timestamps import now
from foundation.egress import BlockedAddress, validate_url
from foundation.outbox import State, notify_on_commit
from organizations.actors import Actor
from organizations.models import Organization
from organizations.services import check_limit
from webhooks.events import build_event, envelope
from webhooks.models import Delivery, Endpoint, Event, ReceivingHost, Replay
from webhooks.signing import new_secret
from webhooks.topics import TEST, topics

# Per organization: each event adds one row per endpoint. API keys have a limit of their own, because no-code tools make
# an endpoint for each automation.
MAX_WEBHOOK_ENDPOINTS, MAX_KEY_ENDPOINTS = 20, 200
ROTATION_OVERLAP = timedelta(hours=24)
REPORT_FAILURES_AFTER = timedelta(hours=24)
DISABLED_BY_STAFF = "Disabled by staff"
DISABLED_BY_KEY = "Disabled by its API key"
KEY_REVOKED = "Its API key was revoked"
EVENTS_AT_ONCE = 250  # with their deliveries and attempts
UNUSED_HOST_AGE = DELETED_ENDPOINT_AGE = timedelta(days=1)


@transaction.atomic
def add_endpoint(
    *,
    organization: Organization,
    url: str,
    description: str = "",
    event_types: list[str] | None = None,
    id: uuid.UUID | None = None,
    **key_values: Any,
) -> tuple[Endpoint, str]:
    """Create an endpoint for these event types (none means all), with `id` if given; return it with its signing secret.

    `key_values` are `api_key_id` and `metadata` of an API key's endpoint. Show the secret now: it is stored encrypted.
    Locks the organization. Raises ValidationFailed, and Conflict at `check_endpoint_limit`.
    """
    validate_endpoint(url, event_types or [])
    values = {"url": url, "description": description, "event_types": event_types or [], **key_values}
    endpoint = Endpoint(id=id, organization=organization, secret=new_secret(), **values)
    check_endpoint_limit(endpoint)
    endpoint.save(force_insert=True)
    return endpoint, endpoint.secret


def check_endpoint_limit(endpoint: Endpoint) -> None:
    """Lock the organization; raise Conflict unless it may have this enabled endpoint beside the others of its kind.

    Staff's count enabled or not, those of API keys if they are enabled or their key can still enable them.
    """
    organization = endpoint.organization
    others = Endpoint.objects.of(organization).filter(deleted_at=None).exclude(pk=endpoint.pk)
    limit, name, advice = MAX_WEBHOOK_ENDPOINTS, "webhook endpoints", "Change one that is no longer needed instead."
    if endpoint.api_key_id is None:
        rows = others.filter(api_key=None)
    else:
        is_live = Q(api_key__revoked_at=None) & (Q(api_key__expires_at=None) | Q(api_key__expires_at__gt=now()))
        rows = others.filter(Q(is_active=True) | is_live, api_key__isnull=False)
        limit, name, advice = MAX_KEY_ENDPOINTS, f"{name} made by API keys", "Delete one that is no longer needed."
    check_limit(organization=organization, rows=rows, limit=limit, name=name, advice=advice)


@transaction.atomic
def change_endpoint(
    *,
    endpoint: Endpoint,
    url: str,
    description: str,
    event_types: list[str],
    is_active: bool,
    metadata: dict[str, str] | None = None,
    disabled_reason: str = DISABLED_BY_STAFF,
) -> Endpoint:
    """Change an endpoint, and disable or enable it. Locks the organization of an API key's, then the endpoint.

    Disabling lets the request in progress finish and keeps the other deliveries pending. Enabling clears the failures.
    Raises ValidationFailed, and Conflict at `check_endpoint_limit`.
    """
    validate_endpoint(url, event_types)
    if endpoint.api_key_id and is_active:
        check_endpoint_limit(endpoint)
    stored = Endpoint.objects.of(endpoint.organization).select_for_update().get(pk=endpoint.pk)
    stored.url, stored.description, stored.event_types = url, description, event_types
    if is_active and not stored.is_active:
        stored.disabled_reason, stored.failing_since, stored.failures, stored.timeouts = "", None, 0, 0
        stored.disabled_at = stored.owners_notified_at = None
    if stored.is_active and not is_active:
        stored.disabled_reason, stored.disabled_at = disabled_reason, now()
        release_deliveries(stored.organization, [stored.pk])
    stored.is_active = is_active
    stored.metadata = stored.metadata if metadata is None else metadata
    stored.paused_until = None  # the new URL may be at a host that can get more; if not, the next claim pauses it again
    stored.save()
    return stored


def release_deliveries(organization: Organization, endpoint_ids: list[uuid.UUID]) -> None:
    """End the leases of the endpoints' deliveries: workers that have lost them skip the rest of the batch."""
    leased = Delivery.objects.of(organization).filter(endpoint__in=endpoint_ids, lease_token__isnull=False)
    leased.filter(state=State.PENDING).update(lease_token=None, next_attempt_at=Now())


def validate_endpoint(url: str, event_types: list[str]) -> None:
    """Raise ValidationFailed unless the URL is a public https address and every type is a topic."""
    try:
        validate_url(url)
    except BlockedAddress as error:
        raise ValidationFailed({"url": [str(error) or "must be a public https address"]}) from None
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
    body = {"id": event.pk, **envelope(event), "data": {"message": message}, "actor": asdict(actor)}
    event.body = orjson.dumps(body).decode()
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


def take_unreported_failures(*, organization: Organization) -> list[Endpoint]:
    """Return the endpoints whose failure the owners don't know yet, marked as reported.

    They have failed for a day, or were disabled for failing since the last report. Locks them; call it in the
    transaction that queues the report.
    """
    is_failing = Q(is_active=True, failing_since__lte=now() - REPORT_FAILURES_AFTER, owners_notified_at=None)
    is_disabled = (
        Q(is_active=False, deleted_at=None)
        & ~Q(disabled_reason__in=["", DISABLED_BY_STAFF, DISABLED_BY_KEY, KEY_REVOKED])
        & (Q(owners_notified_at=None) | Q(owners_notified_at__lt=F("disabled_at")))
    )
    # SKIP LOCKED: an endpoint that another transaction is writing now is left to the next run.
    unlocked = Endpoint.objects.of(organization).select_for_update(skip_locked=True)
    endpoints = list(unlocked.filter(is_failing | is_disabled))
    ids = [endpoint.pk for endpoint in endpoints]
    Endpoint.objects.of(organization).filter(pk__in=ids).update(owners_notified_at=now())
    return endpoints


def prune(*, organization: Organization) -> int:
    """Delete deliveries and replays older than KEEP_DELIVERIES_DAYS, events, unused hosts, and what endpoints leave.

    Returns how many old deliveries (docs/interface.md, W24).
    """
    for endpoint in Endpoint.objects.of(organization).filter(deleted_at__lt=now() - DELETED_ENDPOINT_AGE):
        deliveries = Delivery.objects.of(organization).filter(endpoint=endpoint)
        delete_in_batches(deliveries.order_by("-created_at", "-id"))
        if not deliveries.exists():  # a locked one is left to the next run
            endpoint.delete()
    ReceivingHost.objects.of(organization).filter(used_at__lt=now() - UNUSED_HOST_AGE).delete()
    cutoff = now() - timedelta(days=settings.KEEP_DELIVERIES_DAYS)
    # No delivery ends before it is made. So the index on `created_at` finds the old ones without reading the others.
    old = Delivery.objects.of(organization).filter(created_at__lt=cutoff, finished_at__lt=cutoff)
    count = delete_in_batches(old.exclude(state=State.PENDING).order_by("created_at", "id"))
    replays = Replay.objects.of(organization).filter(created_at__lt=cutoff)
    delete_in_batches(replays.exclude(Exists(Delivery.objects.of(organization).filter(replay=OuterRef("pk")))))
    prune_events(organization)
    return count


def prune_events(organization: Organization) -> None:
    """Delete events older than KEEP_EVENTS_DAYS, with their deliveries, unless one of these is still to be sent."""
    events = Event.objects.of(organization)
    # The place of a reader that has read everything: without it, its `after` would be unknown.
    newest = events.order_by("-transaction", "-id").values_list("pk", flat=True).first()
    pending = Delivery.objects.of(organization).filter(event=OuterRef("pk"), state=State.PENDING)
    old = events.filter(created_at__lt=now() - timedelta(days=settings.KEEP_EVENTS_DAYS)).exclude(pk=newest)
    delete_in_batches(old.exclude(Exists(pending)).order_by("created_at", "id"), size=EVENTS_AT_ONCE)
