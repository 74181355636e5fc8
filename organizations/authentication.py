"""API key authentication: `x-api-key` becomes `request.auth` (docs/interface.md, K1 to K10).

A request costs one query for its key, which also switches the database to the key's organization. Neither a key whose
organization is known to be rate limited nor an unknown key from an address past its limit of failed keys costs one.
"""

import hmac
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TypeVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.db.models import Q
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response

from foundation.api.client_address import client_address
from foundation.api.exceptions import BeingMoved
from foundation.api.rate_limits import Usage, find_exhausted, hit, remember_exhausted, throttled
from foundation.api.request_owner import note_organization
from foundation.db.compiled import Param
from foundation.db.timestamps import now
from organizations.actors import Actor, api_key_actor
from organizations.idempotency import respond_once
from organizations.isolation import bypass_rls
from organizations.isolation.row_level_security import SET_SCOPE_ANNOTATIONS, ApiKeyLookup, set_scope, tenant_scope
from organizations.keys import LiveKeys, parse_key
from organizations.models import ApiKey, Organization

INVALID_KEY = "Invalid or revoked API key"
# How old `last_used_at` may be, so that a busy key isn't written with each request.
LAST_USED_INTERVAL = timedelta(minutes=5)
EXHAUSTION_SECONDS = 5  # for which a process remembers a used-up limit, so that a raised one soon takes effect
Result = TypeVar("Result")
# Compiled for every row of the benchmarks that sends requests.
KEY_QUERY: ApiKeyLookup[ApiKey] = ApiKeyLookup(
    lambda: (
        ApiKey.unscoped.select_related("organization").annotate(**SET_SCOPE_ANNOTATIONS).filter(key_id=Param("key_id"))
    )
)


@dataclass(frozen=True)
class ApiKeyAuth:
    """`request.auth` of a request with a valid key."""

    key: ApiKey

    @property
    def organization(self) -> Organization:
        return self.key.organization

    @property
    def actor(self) -> Actor:
        return api_key_actor(self.key)

    @property
    def requests_per_minute(self) -> int:
        return self.organization.rate_limit_per_minute or int(settings.RATE_LIMIT_PER_MINUTE)

    def count_request(self, request: HttpRequest) -> Usage:
        usage = hit(request, group="organization", key=str(self.organization.pk), limit=self.requests_per_minute)
        remember_exhausted(limit_name(self.key.key_id, bytes(self.key.secret_hash)), usage, EXHAUSTION_SECONDS)
        return usage

    def respond_once(self, *, key: str, request_hash: bytes, respond: Callable[[], Response]) -> Response:
        name = f"{self.key.key_id} {key}"
        return respond_once(organization=self.organization, name=name, request_hash=request_hash, respond=respond)


@dataclass(frozen=True)
class ExhaustedAuth:
    """`request.auth` of a key whose organization is known to be rate limited: lets us answer 429 without a query."""

    usage: Usage

    def count_request(self, request: HttpRequest) -> Usage:
        return self.usage  # a refused request isn't counted


def limit_name(key_id: str, secret_hash: bytes) -> str:
    # With the secret's hash: a guess that has only the id right must get 401, not 429.
    return f"{key_id}:{secret_hash.hex()}"


class ApiKeyAuthentication(BaseAuthentication):
    """Authenticates requests by the `x-api-key` header. Every kind of bad key gets the same 401."""

    def authenticate(self, request: Request) -> tuple[None, ApiKeyAuth | ExhaustedAuth]:
        """Return `request.auth` (there is no user), and set the request's database scope.

        Raises AuthenticationFailed, BeingMoved for an organization that is being moved, and Throttled past the limits.
        """
        parsed = parse_key(request.headers.get("x-api-key", ""))
        if parsed is None:
            raise AuthenticationFailed(INVALID_KEY)
        usage = find_exhausted(limit_name(parsed.key_id, parsed.secret_hash))
        if usage:
            return None, ExhaustedAuth(usage)
        failed_keys = find_exhausted(client_address(request.META))
        if failed_keys and not LIVE_KEYS.may_contain(parsed):
            raise throttled("failed-keys", failed_keys)
        key = first_query(partial(KEY_QUERY.find, parsed.key_id))
        # An unknown key is compared too, and in constant time, so that the response time reveals nothing about it.
        is_same = hmac.compare_digest(bytes(key.secret_hash) if key else bytes(32), parsed.secret_hash)
        if not (key and is_same and key.is_live):
            raise AuthenticationFailed(INVALID_KEY)
        if not key.organization.is_active:
            raise BeingMoved if key.organization.move else AuthenticationFailed(INVALID_KEY)
        set_scope(tenant_scope(key.organization_id))
        note_organization(request._request, key.organization_id)
        if key.last_used_at is None or key.last_used_at < now() - LAST_USED_INTERVAL:
            with suppress(DatabaseError):  # a read-only database can still answer reads
                # Only if it is still the time that we read: of simultaneous requests one writes.
                rows = ApiKey.objects.of(key.organization).filter(Q(last_used_at=key.last_used_at), pk=key.pk)
                rows.update(last_used_at=now())
        return None, ApiKeyAuth(key)

    def authenticate_header(self, request: Request) -> str:
        return "ApiKey"  # without a challenge, DRF would turn the 401 into a 403


def first_query(query: Callable[[], Result]) -> Result:
    """Run the request's first query, and repeat it on a new connection if the persistent one is dead.

    Replaces Django's health check, a `SELECT 1` that costs as much as the query itself.
    """
    connection.health_check_done = True  # type: ignore[attr-defined]  # the stubs lack it
    had_connection = connection.connection is not None
    try:
        return query()
    except (OperationalError, InterfaceError):
        # Only a dead connection is worth a second try. In a transaction, its earlier statements would be lost.
        if not had_connection or connection.in_atomic_block or connection.is_usable():
            raise
        connection.close()
        return query()


def load_live_keys() -> frozenset[bytes]:
    with bypass_rls():
        keys = (
            ApiKey.unscoped.filter(revoked_at=None)
            .filter(Q(organization__is_active=True) | ~Q(organization__move=""))
            .filter(Q(expires_at=None) | Q(expires_at__gt=now()))
            .order_by()
            .values_list("key_id", "secret_hash")
        )
        return frozenset(LiveKeys.entry(key_id, bytes(secret_hash)) for key_id, secret_hash in keys)


LIVE_KEYS = LiveKeys(lambda: first_query(load_live_keys))
