"""Logs as text or as JSON (`LOG_FORMAT`): the formatters, and with JSON the line of each request.

A line names the route's pattern and the organization's id. No line has a path, query, header, body, address or user.
"""

import json
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime

from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

logger = logging.getLogger("pipeline_backend.requests")


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON; a record's `fields` become keys of their own."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "request_id": getattr(record, "request_id", "-"),
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line | getattr(record, "fields", {}), default=str)


class TextFormatter(logging.Formatter):
    """Formats a record as text; a record's `fields` follow the message."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # the name of the base class
        """Return the first line. Values are quoted as in JSON, so that a line break in one starts no new line."""
        fields = getattr(record, "fields", {}).items()
        return super().formatMessage(record) + "".join(
            f" {key}={json.dumps(value, default=str)}" for key, value in fields
        )


class WithoutPath(logging.Filter):
    """Puts the route's pattern in place of a request's path: some paths have secrets, such as a link's token."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and isinstance(record.args, tuple):
            route = request.resolver_match.route if request.resolver_match else "unknown route"
            record.args = tuple(route if each == request.path else each for each in record.args)
        return True


def request_log(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that logs each request when its response is there; a streamed one may still be running then."""
    if not logger.isEnabledFor(logging.INFO):
        raise MiddlewareNotUsed

    def log_request(request: HttpRequest) -> HttpResponse:
        started = time.monotonic()
        response = get_response(request)
        # Django REST framework sets `auth`; the auth of a key that is known to be rate limited has no organization.
        organization = getattr(getattr(request, "auth", None), "organization", None)
        fields = {
            "organization": organization and organization.pk,
            "method": request.method,
            "route": request.resolver_match and request.resolver_match.route,
            "status": response.status_code,
            "duration_ms": round((time.monotonic() - started) * 1000, 1),
        }
        logger.info("request", extra={"fields": fields})
        return response

    return log_request
