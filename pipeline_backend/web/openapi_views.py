"""The OpenAPI document and its reader; both need no key. The document is made once a process, since it says the same to everybody."""

from functools import cache
from threading import Lock
from typing import Any

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from pipeline_backend.api.responses import JsonRenderer

_lock = Lock()


@cache
def rendered_schema() -> bytes:
    """The document's bytes. The generator can't work for two threads at once: hold the lock."""
    generator = SchemaGenerator()
    rendered: bytes = OpenApiJsonRenderer().render(generator.get_schema(request=None, public=True), renderer_context={})
    return rendered


class SchemaView(APIView):
    """The document, for machines."""

    authentication_classes: Any = []
    permission_classes: Any = []
    http_method_names = ["get", "head"]
    schema = None

    def get(self, request: Request) -> HttpResponse:
        """Its bytes."""
        with _lock:
            return HttpResponse(rendered_schema(), content_type="application/json")


class SwaggerView(SpectacularSwaggerSplitView):
    """The document, for people; what it refuses is told in the error form all the same."""

    authentication_classes: Any = []
    permission_classes: Any = []
    http_method_names = ["get", "head"]

    def handle_exception(self, exc: Exception) -> Response:
        """The refusal, in JSON."""
        self.request.accepted_renderer, self.request.accepted_media_type = JsonRenderer(), JsonRenderer.media_type
        response: Response = super().handle_exception(exc)
        return response
