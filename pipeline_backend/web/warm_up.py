"""What a web process does before its first request, which would otherwise take six times as long as a later one.

It reads a page of appointments, one of them, and what a booking needs to know, in the organization whose key was used
last, and throws it all away. After that the code is loaded, and this thread's connection has prepared its statements.
"""

import json
import logging
import sys

from django.db import connection
from django.db.models import F
from django.http import HttpRequest, HttpResponse

from appointments.services.booking import CONTEXT_QUERY
from appointments.views import AppointmentViewSet
from foundation.api.rate_limits import Usage, hit
from organizations.authentication import KEY_QUERY, ApiKeyAuth
from organizations.isolation.row_level_security import TenantScopeMiddleware, set_scope, tenant_scope
from organizations.models import ApiKey
from statuses.models import StatusRole

# After five, psycopg prepares a statement, and after five more PostgreSQL may keep its plan.
EXECUTIONS = 11
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
        key = ApiKey.unscoped.filter(revoked_at=None).order_by(F("last_used_at").desc(nulls_last=True)).first()
        key_id = key.key_id if key else ""
        for _ in range(EXECUTIONS if key else 0):
            TenantScopeMiddleware(lambda _request: read_as(key_id))(HttpRequest())
    except Exception:
        logger.warning("A web process could not prepare itself: its first requests will be slow", exc_info=True)
        connection.close()


def read_as(key_id: str) -> HttpResponse:
    key = KEY_QUERY.find(key_id)
    assert key
    set_scope(tenant_scope(key.organization_id))
    request = HttpRequest()
    request.method, request._force_auth_user, request._force_auth_token = "GET", None, WarmUpAuth(key)  # type: ignore[attr-defined]
    page = LIST(request).render()
    for row in json.loads(page.content)["data"][:1]:
        DETAIL(request, id=row["id"])
    names = dict.fromkeys(("reference", "source", "source_key", "event_type_key"), "")
    CONTEXT_QUERY.first(organization=key.organization_id, role=StatusRole.APPOINTMENT_BOOKED.value, **names)
    return page
