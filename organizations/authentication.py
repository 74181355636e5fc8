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

from organizations.actors import Actor, key_actor
from organizations.keys import KeyText, parse_key
from organizations.models import ApiKey, Organization, Scope
from organizations.services import note_use
from organizations.wall import Opening, serve, telling, tenant
from pipeline_backend.api.ratelimits import Usage, charge, remember, used_up
from pipeline_backend.moments import now
from pipeline_backend.rows import Slot

REFUSED = "Invalid or revoked API key"
NOTE_USE_EVERY = timedelta(minutes=5)
BY_KEY_ID: Opening[ApiKey] = Opening(
    lambda: ApiKey.unscoped.select_related("organization").annotate(**telling("organization_id")).filter(key_id=Slot("key_id"))
)


@dataclass(frozen=True)
class Access:
    """What a valid key opens."""

    key: ApiKey

    @property
    def organization(self) -> Organization:
        """Whose data."""
        return self.key.organization

    @property
    def actor(self) -> Actor:
        """Who is said to have done it."""
        return key_actor(self.key)

    def charge(self, request: HttpRequest) -> Usage:
        """Count this request against the organization."""
        limit = self.organization.rate_limit_per_minute or settings.RATE_LIMIT_PER_MINUTE
        usage = charge(request, group="organization", whom=str(self.organization.pk), limit=limit)
        remember(label(self.key.key_id, bytes(self.key.secret_hash)), usage)
        return usage


@dataclass(frozen=True)
class UsedUp:
    """What a key opens that was good a moment ago, of an organization that has no request left: nothing, and it costs no query."""

    usage: Usage

    def charge(self, request: HttpRequest) -> Usage:
        """The limit as it stands; a refused request is not counted."""
        return self.usage


def label(key_id: str, secret_hash: bytes) -> str:
    """Names one full key: who knows an id alone learns nothing of its limit."""
    return f"{key_id}:{secret_hash.hex()}"


class ApiKeyAuthentication(BaseAuthentication):
    """Every way of being no key gets the same answer."""

    def authenticate(self, request: Request) -> tuple[None, Access | UsedUp]:
        """The access that the header's key gives, or 401."""
        given = parse_key(request.headers.get("x-api-key", ""))
        usage = used_up(label(given.key_id, given.secret_hash)) if given else None
        if usage:
            return None, UsedUp(usage)
        key = find(given) if given else None
        if key is None:
            raise AuthenticationFailed(REFUSED)
        if key.last_used_at is None or key.last_used_at < now() - NOTE_USE_EVERY:
            with suppress(DatabaseError):  # a database that takes no writes can still be read
                note_use(key)
        return None, Access(key)

    def authenticate_header(self, request: Request) -> str:
        """Keeps DRF at 401 (without it, 403)."""
        return "ApiKey"


def ask_first(ask: Callable[[], ApiKey | None]) -> ApiKey | None:
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


def find(given: KeyText) -> ApiKey | None:
    """The live key of an active organization, its secret compared in constant time."""
    key = ask_first(partial(BY_KEY_ID.find, given.key_id))
    known = bytes(key.secret_hash) if key else bytes(32)
    is_same = hmac.compare_digest(known, given.secret_hash)
    if not (key and is_same and key.is_live and key.organization.is_active):
        return None
    serve(tenant(key.organization_id))
    return key


class HasScope(BasePermission):
    """Reading needs `read`, anything else `write` (decision 12)."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """True, or a 403 that names the scope."""
        needed = Scope.READ if request.method in {"GET", "HEAD"} else Scope.WRITE
        if needed not in request.auth.key.scopes:
            raise PermissionDenied(f"This API key lacks the scope {needed}")
        return True
