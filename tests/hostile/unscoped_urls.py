"""The project's URLs, and views that run code of a test, such as a query whose author forgot to filter by tenant."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from foundation.api.viewsets import ApiView
from pipeline_backend import urls

# The fixture `set_view_code` replaces it.
view_code: Callable[[], Any] = list


class UnscopedApiView(ApiView):
    """Runs the test's code in a request with an API key."""

    def get(self, request: Request) -> Response:
        return Response({"data": view_code()})

    post = get


def unscoped_view(request: HttpRequest) -> JsonResponse:
    """Run the test's code in the admin with a session, or elsewhere in an anonymous request."""
    return JsonResponse({"data": view_code()})


def stream(request: HttpRequest) -> StreamingHttpResponse:
    """Stream what the test's code yields, as exports do."""
    return StreamingHttpResponse(view_code())


handler400, handler403, handler404, handler500 = urls.handler400, urls.handler403, urls.handler404, urls.handler500
urlpatterns = [
    path("api/unscoped", UnscopedApiView.as_view(schema=None)),
    path("admin/unscoped", unscoped_view),
    path("admin/unscoped/stream", stream),
    path("unscoped", unscoped_view),
    *urls.urlpatterns,
]
