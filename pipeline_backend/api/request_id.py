"""The request id: taken or made, sent back, and on every log line (decision 8)."""

import logging
import re
from collections.abc import Callable
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse
from uuid_utils.compat import uuid7

VALID = re.compile(r"[\x20-\x7e]{1,128}")
_current: ContextVar[str] = ContextVar("request_id", default="-")


def current_request_id() -> str:
    """The id of the request being served, or "-" outside of one."""
    return _current.get()


class RequestIdMiddleware:
    """Gives each request its id, and each answer the header `X-Request-Id`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Serve the request under its id."""
        given = request.headers.get("X-Request-Id", "")
        token = _current.set(given if VALID.fullmatch(given) else str(uuid7()))
        try:
            response = self.get_response(request)
            response["X-Request-Id"] = current_request_id()
            return response
        finally:
            _current.reset(token)


class RequestIdFilter(logging.Filter):
    """Puts the request id on each log record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep every record."""
        record.request_id = current_request_id()
        return True
