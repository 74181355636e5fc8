"""Middleware of the admin: which rows a request may see, whose request it is, and when its session was last used."""

from collections.abc import Callable

from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse

from accounts.sessions import is_same_client, note_usage
from foundation.api.request_owner import note_person
from organizations.isolation import bypass_rls
from organizations.isolation.row_level_security import NO_TENANT, OWNER_SCOPE, DatabaseScope, set_scope, staff_scope
from organizations.permissions import is_operator, roles_by_organization
from organizations.security_log import current_request


class StaffMiddleware:
    """Prepares each admin request, and the security log for every request. Comes after Django's authentication."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        token = current_request.set(request)
        try:
            if not request.path_info.startswith("/admin/"):
                return self.get_response(request)
            # Row-level security would hide the user's own row; the request then gets the scope of their organizations.
            with bypass_rls():
                scope = scope_of(request)
            if request.user.is_authenticated:
                roles = {} if is_operator(request) else roles_by_organization(request)
                note_person(request, request.user.pk, list(roles))
            # After the block, which restores the scope that it found.
            set_scope(scope)
            response = self.get_response(request)
            # After the response, because signing in and out change the session.
            if SESSION_KEY in request.session and not is_refresh(request):
                note_usage(request)
            return response
        finally:
            current_request.reset(token)


def is_refresh(request: HttpRequest) -> bool:
    """Return whether the script of an open page reads something, which doesn't prolong the person's session.

    From another address or browser it counts as a use: what the person sees of the session must be true.
    """
    is_reading = request.method == "GET" and request.headers.get("Purpose") == "refresh"
    return is_reading and is_same_client(request)


def scope_of(request: HttpRequest) -> DatabaseScope:
    if not request.user.is_authenticated:
        return NO_TENANT
    return OWNER_SCOPE if is_operator(request) else staff_scope(roles_by_organization(request))
