"""Middleware that hides all organizations' rows until the request's own organizations are known."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from organizations.isolation.row_level_security import NO_TENANT, NO_TENANT_IN_ADMIN, current_scope, scope_wrapper


class TenantScopeMiddleware:
    """Sets the scope `NO_TENANT` until the organization is known. Comes before all that use the database."""

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
