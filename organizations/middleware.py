"""The admin's door in the second wall: a request there is for the organizations of the person who is signed in."""

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
    """Middleware: behind Django's, which knows the session."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith("/admin/"):
            with bypass_rls():
                whom = scope_of(request)
            set_scope(whom)
        return self.get_response(request)


def scope_of(request: HttpRequest) -> DatabaseScope:
    """All organizations for an operator, their own for anybody else."""
    if not request.user.is_authenticated:
        return NO_TENANT
    return OWNER_SCOPE if is_operator(request) else staff_scope(roles_by_organization(request))
