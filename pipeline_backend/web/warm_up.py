"""What a web process does before its first request, which would otherwise take six times as long as a later one.

It reads a page of appointments and one of them, and books, in the organization whose key was used last. The bookings
are rolled back. After that the code is loaded, and this thread's connection has prepared its statements.
"""

import json
import logging
import sys
from datetime import timedelta
from functools import partial
from uuid import uuid4

from django.db import connection, transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponse

from appointments.services.booking import book
from appointments.views import AppointmentViewSet
from foundation.api.rate_limits import Usage, hit
from foundation.db.timestamps import now
from organizations.actors import SYSTEM
from organizations.authentication import KEY_QUERY, ApiKeyAuth
from organizations.isolation.row_level_security import TenantScopeMiddleware, set_scope, tenant_scope
from organizations.models import ApiKey, Organization

# After five, psycopg prepares a statement, and after five more PostgreSQL may keep its plan. What a booking runs is
# prepared at once.
EXECUTIONS, BOOKINGS = 11, 6
LIST = AppointmentViewSet.as_view({"get": "list"})
DETAIL = AppointmentViewSet.as_view({"get": "retrieve"})

logger = logging.getLogger(__name__)


class WarmUpAuth(ApiKeyAuth):
    """`request.auth` of a request that no client has sent: it doesn't count towards the organization's limit."""

    def count_request(self, request: HttpRequest) -> Usage:
        return hit(request, group="warm-up", key="", limit=sys.maxsize)


def warm_up() -> None:
    """Prepare this thread for requests. Never raises: whatever fails here, the requests report by themselves."""
    try:
        keys = ApiKey.unscoped.filter(revoked_at=None, organization__is_active=True)
        key = keys.order_by(F("last_used_at").desc(nulls_last=True)).first()
        key_id = key.key_id if key else ""
        for number in range(EXECUTIONS if key else 0):
            TenantScopeMiddleware(partial(use, key_id, number < BOOKINGS))(HttpRequest())
    except Exception:
        logger.warning("A web process could not prepare itself: its first requests will be slow", exc_info=True)
        connection.close()


def use(key_id: str, books: bool, _request: HttpRequest) -> HttpResponse:
    key = KEY_QUERY.find(key_id)
    assert key
    set_scope(tenant_scope(key.organization_id))
    request = HttpRequest()
    request.method, request._force_auth_user, request._force_auth_token = "GET", None, WarmUpAuth(key)  # type: ignore[attr-defined]
    page = LIST(request).render()
    for row in json.loads(page.content)["data"][:1]:
        DETAIL(request, id=row["id"])
        # A new event type would lock the organization.
        if books and row["appointment_type"]:
            book_and_roll_back(key.organization, row["appointment_type"])
    return page


def book_and_roll_back(organization: Organization, event_type: str) -> None:
    with transaction.atomic():
        book(
            organization=organization,
            actor=SYSTEM,
            external_reference=f"warm-up {uuid4()}",
            schedule_time=now() + timedelta(days=1),
            lead_email=f"{uuid4()}@example.com",
            event_type_name=event_type,
            notes="Warm-up",
        )
        transaction.set_rollback(True)
