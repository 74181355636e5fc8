"""`x-api-key` → `request.auth`: the key's organization, scopes and rate limit (interface 5)."""

import hmac
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from organizations.actors import Actor, api_key_actor
from organizations.isolation.row_level_security import ApiKeyLookup, set_scope, set_scope_annotations, tenant_scope
from organizations.keys import ParsedApiKey, parse_key
from organizations.models import ApiKey, Organization, Scope
from organizations.services import touch_last_used
from pipeline_backend.api.rate_limits import Usage, cache_exhaustion, cached_exhaustion, hit
from pipeline_backend.db.compiled import Param
from pipeline_backend.db.timestamps import now

INVALID_KEY = "Invalid or revoked API key"
LAST_USED_PRECISION = timedelta(minutes=5)
KEY_QUERY: ApiKeyLookup[ApiKey] = ApiKeyLookup(
    lambda: (
        ApiKey.unscoped.select_related("organization")
        .annotate(**set_scope_annotations("organization_id"))
        .filter(key_id=Param("key_id"))
    )
)


@dataclass(frozen=True)
class ApiKeyAuth:
    """What a valid key opens."""

    key: ApiKey

    @property
    def organization(self) -> Organization:
        """Whose data."""
        return self.key.organization

    @property
    def actor(self) -> Actor:
        """Who is said to have done it."""
        return api_key_actor(self.key)

    def count_request(self, request: HttpRequest) -> Usage:
        """Count this request against the organization."""
        limit = self.organization.rate_limit_per_minute or settings.RATE_LIMIT_PER_MINUTE
        usage = hit(request, group="organization", key=str(self.organization.pk), limit=limit)
        cache_exhaustion(cache_label(self.key.key_id, bytes(self.key.secret_hash)), usage)
        return usage


@dataclass(frozen=True)
class ExhaustedAuth:
    """What a key opens that was good a moment ago, of an organization that has no request left: nothing, and it costs no query."""

    usage: Usage

    def count_request(self, request: HttpRequest) -> Usage:
        """The limit as it stands; a refused request is not counted."""
        return self.usage


def cache_label(key_id: str, secret_hash: bytes) -> str:
    """Names one full key: who knows an id alone learns nothing of its limit."""
    return f"{key_id}:{secret_hash.hex()}"


class ApiKeyAuthentication(BaseAuthentication):
    """Every way of being no key gets the same answer."""

    def authenticate(self, request: Request) -> tuple[None, ApiKeyAuth | ExhaustedAuth]:
        """The access that the header's key gives, or 401."""
        given = parse_key(request.headers.get("x-api-key", ""))
        usage = cached_exhaustion(cache_label(given.key_id, given.secret_hash)) if given else None
        if usage:
            return None, ExhaustedAuth(usage)
        key = authenticate_key(given) if given else None
        if key is None:
            raise AuthenticationFailed(INVALID_KEY)
        if key.last_used_at is None or key.last_used_at < now() - LAST_USED_PRECISION:
            with suppress(DatabaseError):  # a database that takes no writes can still be read
                touch_last_used(key)
        return None, ApiKeyAuth(key)

    def authenticate_header(self, request: Request) -> str:
        """Keeps DRF at 401 (without it, 403)."""
        return "ApiKey"


def first_query(ask: Callable[[], ApiKey | None]) -> ApiKey | None:
    """A request's first question to the database; on a kept connection that turns out to be dead it is asked again on a new one.

    Django would ask each kept connection for a sign of life first, which costs as much as this question itself.
    """
    connection.health_check_done = True  # type: ignore[attr-defined]  # the stubs lack it
    had_connection = connection.connection is not None
    try:
        return ask()
    except (OperationalError, InterfaceError):
        if not had_connection or connection.in_atomic_block or connection.is_usable():
            raise
        connection.close()
        return ask()


def authenticate_key(given: ParsedApiKey) -> ApiKey | None:
    """The live key of an active organization, its secret compared in constant time."""
    key = first_query(partial(KEY_QUERY.find, given.key_id))
    known = bytes(key.secret_hash) if key else bytes(32)
    is_same = hmac.compare_digest(known, given.secret_hash)
    if not (key and is_same and key.is_live and key.organization.is_active):
        return None
    set_scope(tenant_scope(key.organization_id))
    return key


class HasScope(BasePermission):
    """Reading needs `read`, anything else `write` (decision 12)."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """True, or a 403 that names the scope."""
        needed = Scope.READ if request.method in {"GET", "HEAD"} else Scope.WRITE
        if needed not in request.auth.key.scopes:
            raise PermissionDenied(f"This API key lacks the scope {needed}")
        return True
