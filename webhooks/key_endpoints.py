"""Endpoints that API keys make and manage (docs/interface.md, W30 to W39).

They belong to the key that made them, or to the newest of those that rotations made of it, for which a replaced key
acts as long as it is live. Each service locks the organization first, as issuing, rotating and revoking a key do.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.dispatch import receiver

from foundation.api.exceptions import Conflict, ResourceNotFound, ValidationFailed
from foundation.db.timestamps import now
from organizations.actors import api_key_actor
from organizations.events import key_revoked, key_rotated
from organizations.models import ApiKey
from organizations.services import check_limit, lock_organization
from webhooks import services
from webhooks.models import Delivery, Endpoint, Event
from webhooks.replays import replay, replay_since

MAX_DELETED = 1_000
# The reasons for which only staff can enable an endpoint, and the message that its key gets.
ENABLED_BY_STAFF = {
    services.DISABLED_BY_STAFF: "Staff have disabled this endpoint; they can enable it in the admin",
    services.KEY_REVOKED: "This endpoint's API key was revoked; staff can enable the endpoint in the admin",
}


def endpoints_of(key: ApiKey) -> QuerySet[Endpoint]:
    rows: QuerySet[Endpoint] = Endpoint.objects.of(key.organization)
    return rows.filter(api_key=key.replaced_by_id or key.pk, deleted_at=None)


def find_endpoint(key: ApiKey, id: UUID) -> Endpoint:
    """Return an endpoint of the key. Raises ResourceNotFound."""
    endpoint = endpoints_of(key).select_related("organization").filter(pk=id).first()
    if endpoint is None:
        raise ResourceNotFound
    return endpoint


def lock_key(key: ApiKey) -> ApiKey:
    """Lock the organization, and return the key as it is now. Raises Conflict if it or the newest is revoked."""
    lock_organization(key.organization)
    stored = ApiKey.objects.of(key.organization).select_related("organization", "replaced_by").get(pk=key.pk)
    if any(each.revoked_at for each in (stored, stored.replaced_by) if each):
        raise Conflict("This API key, or the one that replaced it, has been revoked")
    return stored


def lock_enabled(key: ApiKey, id: UUID) -> Endpoint:
    """Lock the organization, and return an endpoint of the key. Raises ResourceNotFound, and Conflict if disabled."""
    endpoint = find_endpoint(lock_key(key), id)
    if not endpoint.is_active:
        raise Conflict("This endpoint is disabled; enable it first")
    return endpoint


@transaction.atomic
def subscribe(
    *, key: ApiKey, url: str, topics: list[str], description: str, metadata: dict[str, str]
) -> tuple[UUID, str | None]:
    """Create an endpoint for these topics (none means all); return its id and signing secret.

    If the key has one with this URL and these topics, that one is returned, without its secret. Raises what
    `add_endpoint` does, and Conflict at `MAX_DELETED`.
    """
    key, event_types = lock_key(key), sorted(set(topics))
    existing = endpoints_of(key).filter(url=url, event_types=event_types).values_list("pk", flat=True).first()
    if existing:
        return existing, None
    # Every event of the organization passes its endpoints, also deleted ones until they are pruned.
    deleted = Endpoint.objects.of(key.organization).exclude(deleted_at=None)
    limit, advice = MAX_DELETED, "Change an endpoint instead of deleting it and creating another one."
    check_limit(
        organization=key.organization, rows=deleted, limit=limit, name="endpoints deleted within a day", advice=advice
    )
    endpoint, secret = services.add_endpoint(
        organization=key.organization,
        url=url,
        description=description,
        event_types=event_types,
        api_key_id=key.replaced_by_id or key.pk,
        metadata=metadata,
    )
    return endpoint.pk, secret


@transaction.atomic
def patch_endpoint(*, key: ApiKey, id: UUID, changes: Mapping[str, Any]) -> None:
    """Change an endpoint as `change_endpoint` does.

    `changes` has values of `EndpointUpdateInputSerializer`; None clears one. Raises ResourceNotFound, ValidationFailed,
    and Conflict to enable what staff, or the end of a key, have disabled.
    """
    endpoint = find_endpoint(lock_key(key), id)
    is_active = changes.get("is_active", endpoint.is_active)
    if is_active and not endpoint.is_active and endpoint.disabled_reason in ENABLED_BY_STAFF:
        raise Conflict(ENABLED_BY_STAFF[endpoint.disabled_reason])
    services.change_endpoint(
        endpoint=endpoint,
        url=changes.get("url", endpoint.url),
        description=changes.get("description", endpoint.description) or "",
        event_types=sorted(set(changes.get("topics", endpoint.event_types) or [])),
        is_active=is_active,
        metadata=changes.get("metadata", endpoint.metadata) or {},
        disabled_reason=services.DISABLED_BY_KEY,
    )


@transaction.atomic
def delete_endpoint(*, key: ApiKey, id: UUID) -> None:
    """Send nothing to the endpoint any more, and hide it; `prune` deletes the row. Raises ResourceNotFound."""
    endpoint = find_endpoint(lock_key(key), id)
    endpoints_of(key).filter(pk=endpoint.pk).update(is_active=False, deleted_at=now())
    services.release_deliveries(endpoint.organization, [endpoint.pk])


@transaction.atomic
def rotate_endpoint_secret(*, key: ApiKey, id: UUID) -> Endpoint:
    """Replace the signing secret, as `rotate_secret` does; return the endpoint. Raises ResourceNotFound."""
    endpoint = find_endpoint(lock_key(key), id)
    services.rotate_secret(endpoint=endpoint)
    endpoint.refresh_from_db()
    return endpoint


@transaction.atomic
def send_endpoint_test(*, key: ApiKey, id: UUID) -> Event:
    """Record a `webhook.test` event for the endpoint alone. Raises what `lock_enabled` does."""
    return services.send_test(endpoint=lock_enabled(key, id), actor=api_key_actor(key))


@transaction.atomic
def replay_delivery(*, key: ApiKey, id: UUID, delivery_id: UUID) -> int:
    """Send one delivery of the endpoint again; return 1. Raises what `lock_enabled` and `replay` do."""
    endpoint = lock_enabled(key, id)
    delivery = Delivery.objects.of(key.organization).filter(endpoint=endpoint, pk=delivery_id).first()
    if delivery is None:
        raise ValidationFailed({"delivery_id": ["is not known for this endpoint"]})
    replay(delivery=delivery)
    return 1


@transaction.atomic
def replay_period(
    *, key: ApiKey, id: UUID, since: datetime, until: datetime | None = None, topics: list[str] | None = None
) -> int:
    """Replay what the endpoint missed since a time, as `replay_since` does; return the number of deliveries."""
    actor = api_key_actor(key)
    endpoint = lock_enabled(key, id)
    return replay_since(endpoint=endpoint, actor=actor, since=since, until=until, types=topics, is_in_parts=False)


@receiver(key_revoked)
def pause_endpoints(signal: object, sender: object, key: ApiKey, **_: object) -> None:
    """Disable the endpoints of a revoked key. Deliveries wait until staff enable them."""
    enabled = Endpoint.objects.of(key.organization).filter(api_key=key, is_active=True)
    ids = list(enabled.order_by("pk").select_for_update().values_list("pk", flat=True))
    Endpoint.objects.of(key.organization).filter(pk__in=ids).update(
        is_active=False, disabled_reason=services.KEY_REVOKED, disabled_at=now()
    )
    services.release_deliveries(key.organization, ids)


@receiver(key_rotated)
def hand_over_endpoints(signal: object, sender: object, key: ApiKey, new_key: ApiKey, **_: object) -> None:
    # A key that was replaced is rotated again only if its successor has ended.
    keys = [key.pk, key.replaced_by_id or key.pk]
    Endpoint.objects.of(key.organization).filter(api_key__in=keys).update(api_key=new_key)
