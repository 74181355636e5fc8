"""Successful responses: their two forms (docs/interface.md, G3) and their bytes."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response


class JsonRenderer(BaseRenderer):
    """Renders JSON with orjson, which copies the JSON that SQL serializers return (`orjson.Fragment`) as it is."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: object, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return b"" if data is None else orjson.dumps(data)


class JsonOnlyNegotiation(BaseContentNegotiation):
    """Responds with JSON whatever the `Accept` header says: a wrong header is no reason to lose a booking."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        media_type = (request.content_type or "").split(";")[0].strip().lower()
        for parser in parsers:
            if parser.media_type == media_type:
                return parser
        raise UnsupportedMediaType(media_type, "Content-Type must be application/json")

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


def action_response(message: str, data: object, *, status: int = 200) -> Response:
    return Response({"status": "success", "message": message, "data": data}, status=status)


def data_response(message: str, data: object, **extra: object) -> Response:
    return Response({"success": True, "message": message, "data": data, **extra})
