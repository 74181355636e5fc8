"""Answers: the success forms of the interface (section 4), and their bytes."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response


class JsonRenderer(BaseRenderer):
    """JSON by orjson; `orjson.Fragment`s (shapes read from the database) pass through untouched."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """The body; nothing at all where there is no data."""
        return b"" if data is None else orjson.dumps(data)


class JsonOnlyNegotiation(BaseContentNegotiation):
    """Answers JSON whatever was asked for: a wrong `Accept` is no reason to lose a booking."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        """The parser of the body's media type, or none (415)."""
        media_type = (request.content_type or "").split(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == media_type), None)

    def select_renderer(
        self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None
    ) -> tuple[Any, str]:
        """JSON."""
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


def action_response(message: str, data: Any, *, status: int = 200) -> Response:
    """The form of create, cancel, submit and update."""
    return Response({"status": "success", "message": message, "data": data}, status=status)


def data_response(message: str, data: Any, **more: Any) -> Response:
    """The form of list and detail."""
    return Response({"success": True, "message": message, "data": data, **more})
