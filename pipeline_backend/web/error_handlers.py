"""Django's error handlers: the API's error body below `/api/`, pages elsewhere. Also the filter for error reports."""

import re
import sys
from collections.abc import Callable, ItemsView
from types import FrameType

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views import defaults
from django.views.debug import SafeExceptionReporterFilter

from foundation.api.exceptions import (
    MALFORMED,
    NOT_FOUND,
    RETRY_AFTER_SECONDS,
    SERVER_ERROR,
    UNAVAILABLE,
    WRONG_HOST,
    is_unavailable,
)
from pipeline_backend.web.middleware import API_PATH


def build_handler(status: int, message: str, page: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    def handle(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        if API_PATH.match(request.path_info):
            return JsonResponse({"status": "error", "message": message}, status=status)
        return page(request, *args, **kwargs)

    return handle


_malformed = build_handler(400, MALFORMED, defaults.bad_request)
# Rendered without the request, so that no link has the wrong host. The page doesn't show the host either.
_wrong_host = build_handler(400, WRONG_HOST, lambda _: HttpResponse(render_to_string("wrong_host.html"), status=400))


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _wrong_host(request) if isinstance(exception, DisallowedHost) else _malformed(request, exception)


handler403 = build_handler(403, "Not allowed", defaults.permission_denied)
handler404 = build_handler(404, NOT_FOUND, defaults.page_not_found)
_server_error = build_handler(500, SERVER_ERROR, defaults.server_error)


def handler500(request: HttpRequest) -> HttpResponse:
    # Django calls this inside its `except` block and doesn't pass the exception.
    return unavailable(request) if is_unavailable(sys.exception()) else _server_error(request)


def unavailable(request: HttpRequest) -> HttpResponse:
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    if API_PATH.match(request.path_info):
        return JsonResponse({"status": "error", "message": UNAVAILABLE}, status=503, headers=headers)
    # Rendered without the request: context processors would load the session and the user, which need the database.
    return HttpResponse(render_to_string("503.html"), status=503, headers=headers)


class ScrubbedReporterFilter(SafeExceptionReporterFilter):
    """Removes secrets and the values of local variables from the error reports that operators can have mailed."""

    # URLs in settings (DATABASE_URL, a cache's LOCATION, WEBHOOKS_PROXY) can contain passwords.
    hidden_settings = re.compile(
        f"{SafeExceptionReporterFilter.hidden_settings.pattern}|URL|LOCATION|PROXY", re.IGNORECASE
    )

    def get_traceback_frame_variables(self, request: HttpRequest | None, tb_frame: FrameType) -> ItemsView[str, object]:
        """Return no variables: any of them may hold an API key, a header or a lead's data."""
        return dict[str, object]().items()
