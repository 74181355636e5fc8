"""What Django itself refuses, or fails at: in the interface's error form below /api/, as its own pages elsewhere."""

import re
import sys
from collections.abc import Callable, ItemsView
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views import defaults
from django.views.debug import SafeExceptionReporterFilter

from pipeline_backend.api.exceptions import RETRY_AFTER_SECONDS, UNAVAILABLE, is_unavailable

MESSAGES = {
    400: "The request is malformed",
    403: "Not allowed",
    404: "Resource not found",
    500: "Something went wrong on our side; the X-Request-Id header names this request",
}


def handler(code: int, page: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Django's handler for one status code."""

    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.path_info.startswith("/api/"):
            return JsonResponse({"status": "error", "message": MESSAGES[code]}, status=code)
        return page(request, *args, **kwargs)

    return answer


handler400 = handler(400, defaults.bad_request)
handler403 = handler(403, defaults.permission_denied)
handler404 = handler(404, defaults.page_not_found)
_server_error = handler(500, defaults.server_error)


def handler500(request: HttpRequest) -> HttpResponse:
    """500, or 503 if it was the database; Django calls this while the error is handled."""
    return unavailable(request) if is_unavailable(sys.exception()) else _server_error(request)


def unavailable(request: HttpRequest) -> HttpResponse:
    """To come again; the page asks the database nothing."""
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    if request.path_info.startswith("/api/"):
        return JsonResponse({"status": "error", "message": UNAVAILABLE}, status=503, headers=headers)
    return HttpResponse(render_to_string("503.html"), status=503, headers=headers)


class ScrubbedReporterFilter(SafeExceptionReporterFilter):
    """Django's reports of errors, for whoever has them sent: where it failed, not with what. Addresses can hold passwords, too."""

    hidden_settings = re.compile(
        f"{SafeExceptionReporterFilter.hidden_settings.pattern}|URL|LOCATION|PROXY", re.IGNORECASE
    )

    def get_traceback_frame_variables(self, request: Any, tb_frame: Any) -> ItemsView[str, Any]:
        """None: among them may be a key, a header, somebody's data."""
        return dict[str, Any]().items()
