"""The OpenAPI document: made once a process, since it says the same to everybody."""

from functools import cache

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer


@cache
def document() -> bytes:
    """The document's bytes."""
    generator = SchemaGenerator()
    rendered: bytes = OpenApiJsonRenderer().render(generator.get_schema(request=None, public=True), renderer_context={})
    return rendered


@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    """The document; no key needed."""
    return HttpResponse(document(), content_type="application/json")
