"""Middleware that limits admin requests to the organizations of the signed-in user."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from organizations.isolation.row_level_security import (
    NO_TENANT,
    OWNER_SCOPE,
    DatabaseScope,
    bypass_rls,
    set_scope,
    staff_scope,
)
from organizations.permissions import is_operator, roles_by_organization


class StaffScopeMiddleware:
    """Sets the database scope of admin requests. It comes after Django's authentication middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith("/admin/"):
            # Until the user is known, the request sees no row, not even the user's own.
            with bypass_rls():
                scope = scope_of(request)
            # After the block, which restores the scope that it found.
            set_scope(scope)
        return self.get_response(request)


def scope_of(request: HttpRequest) -> DatabaseScope:
    """Return all organizations for an operator, the user's own for other users, and none for visitors."""
    if not request.user.is_authenticated:
        return NO_TENANT
    return OWNER_SCOPE if is_operator(request) else staff_scope(roles_by_organization(request))
