"""Middleware that limits each request to the rows of its own organizations, and notes who uses the admin."""

from collections.abc import Callable

from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse

from organizations.isolation.row_level_security import (
    NO_TENANT,
    NO_TENANT_IN_ADMIN,
    OWNER_SCOPE,
    DatabaseScope,
    bypass_rls,
    current_scope,
    scope_wrapper,
    set_scope,
    staff_scope,
)
from organizations.permissions import is_operator, roles_by_organization
from organizations.security_log import current_request
from organizations.sessions import note_usage
from pipeline_backend.api.request_owner import note_person


class TenantScopeMiddleware:
    """Sets the scope `NO_TENANT` until authentication knows the organization; resets it after the response.

    In the list of middlewares it is before all that use the database.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        scope_wrapper()  # Django may have made a new connection object for this thread since the last request
        # The admin's statements time out sooner, so that no page keeps a thread and a database process for long.
        # Set directly: `set_scope` has no effect before a request has a scope.
        token = current_scope.set(NO_TENANT_IN_ADMIN if request.path_info.startswith("/admin/") else NO_TENANT)
        try:
            return self.get_response(request)
        finally:
            current_scope.reset(token)


class StaffMiddleware:
    """Sets the database scope of admin requests, notes their sessions' use, and passes requests to the security log.

    It comes after Django's authentication middleware.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        token = current_request.set(request)
        try:
            if not request.path_info.startswith("/admin/"):
                return self.get_response(request)
            # Until the user is known, the request sees no row, not even the user's own.
            with bypass_rls():
                scope = scope_of(request)
            # After the block, which restores the scope that it found.
            set_scope(scope)
            response = self.get_response(request)
            # After the response, because signing in and out change the session.
            if SESSION_KEY in request.session:
                note_usage(request)
            return response
        finally:
            current_request.reset(token)


def scope_of(request: HttpRequest) -> DatabaseScope:
    """Return all organizations for an operator, the user's own for other users, and none for visitors."""
    if not request.user.is_authenticated:
        return NO_TENANT
    if is_operator(request):
        note_person(request, request.user.pk, [])
        return OWNER_SCOPE
    roles = roles_by_organization(request)
    note_person(request, request.user.pk, list(roles))
    return staff_scope(roles)
