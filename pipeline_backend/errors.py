"""What Django itself refuses: in the interface's error form below /api/, as its own pages elsewhere."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views import defaults

SENTENCES = {
    400: "The request is malformed",
    403: "Not allowed",
    404: "Resource not found",
    500: "Something went wrong on our side; the X-Request-Id header names this request",
}


def handler(code: int, page: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Django's handler for one status code."""

    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.path_info.startswith("/api/"):
            return JsonResponse({"status": "error", "message": SENTENCES[code]}, status=code)
        return page(request, *args, **kwargs)

    return answer


handler400 = handler(400, defaults.bad_request)
handler403 = handler(403, defaults.permission_denied)
handler404 = handler(404, defaults.page_not_found)
handler500 = handler(500, defaults.server_error)
