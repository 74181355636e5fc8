"""The OpenAPI document and Swagger UI. Neither needs a key (SPECTACULAR_SETTINGS)."""

from functools import cache
from threading import Lock

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response

from foundation.api.responses import JsonRenderer

_lock = Lock()


@cache
def rendered_schema() -> bytes:
    """Return the document, the same for every client. Callers in a web server hold `_lock`."""
    return OpenApiJsonRenderer().render(SchemaGenerator().get_schema(request=None, public=True), renderer_context={})


class SchemaView(SpectacularJSONAPIView):
    http_method_names = ["get", "head"]
    renderer_classes = [JsonRenderer]  # of errors
    schema = None  # the document doesn't describe itself

    def get(self, request: Request) -> HttpResponse:
        # drf-spectacular's generator is not thread-safe, and `cache` doesn't stop two first requests from running it.
        with _lock:
            return HttpResponse(rendered_schema(), content_type="application/json")


class SwaggerView(SpectacularSwaggerSplitView):
    http_method_names = ["get", "head"]

    def handle_exception(self, exc: Exception) -> Response:
        self.request.accepted_renderer, self.request.accepted_media_type = JsonRenderer(), JsonRenderer.media_type
        return super().handle_exception(exc)
