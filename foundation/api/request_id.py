"""The request id: accepted from the client or generated, returned, and put on every log record (G36)."""

import logging
import re
from collections.abc import Callable
from contextvars import ContextVar

from django.http import HttpRequest, HttpResponse
from uuid_utils.compat import uuid7

VALID = re.compile(r"[\x20-\x7e]{1,128}")  # printable ASCII: it is returned in a header and written to the log
NO_REQUEST = "-"
_current: ContextVar[str] = ContextVar("request_id", default=NO_REQUEST)


def current_request_id() -> str:
    """Return the id of the current request, or `NO_REQUEST` outside of one."""
    return _current.get()


class RequestIdMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Process the request under its id; an invalid id is replaced, never refused."""
        header = request.headers.get("X-Request-Id", "")
        is_valid = VALID.fullmatch(header) and header != NO_REQUEST
        token = _current.set(header if is_valid else str(uuid7()))
        try:
            response = self.get_response(request)
            response["X-Request-Id"] = current_request_id()
            return response
        finally:
            _current.reset(token)


class RequestIdFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = current_request_id()
        return True
