"""Middleware for pages: a limit on a person's requests, and short refusals instead of server errors."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator

from django.conf import settings
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.db import DataError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.multipartparser import MultiPartParserError
from django.template.loader import render_to_string
from psycopg.errors import QueryCanceled, TransactionTimeout

from accounts.passwords import PasswordHashingBusy
from foundation.api.exceptions import RETRY_AFTER_SECONDS
from foundation.api.rate_limits import Usage, count_slow_seconds, hit
from foundation.metrics.definitions import LIMITS_EXCEEDED
from pipeline_backend.web.middleware import API_PATH

logger = logging.getLogger(__name__)


class PageRateLimitMiddleware:
    """Counts a person's requests to the admin, and refuses those over the limit."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not (request.path_info.startswith("/admin/") and request.user.is_authenticated):
            return self.get_response(request)
        user_id = str(request.user.pk)

        def count() -> Usage:
            return hit(request, group="admin", key=user_id, limit=settings.ADMIN_REQUESTS_PER_MINUTE)

        if (usage := count()).exceeded:
            LIMITS_EXCEEDED.labels("admin").inc()
            text = "You have sent more requests in a minute than are allowed. Wait a minute, then try again."
            return refusal(429, "Too many requests", text, retry_after=usage.reset_after)
        started = time.monotonic()
        response = self.get_response(request)
        if isinstance(response, StreamingHttpResponse):
            response.streaming_content = count_stream(response.streaming_content, started, count)
        else:
            count_slow_seconds(started, count)
        return response


class PageErrorMiddleware:
    """Answers hostile or expensive requests with a short page. The API has an exception handler of its own.

    Django would log a traceback for most of the exceptions below, so that a single client could fill the log.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if API_PATH.match(request.path_info):
            return self.get_response(request)
        if has_bad_parameters(request):
            return bad_request()
        try:
            # The CSRF middleware reads it next, in `process_view`, whose exceptions don't reach `process_exception`.
            _ = request.POST
        except (SuspiciousOperation, BadRequest, MultiPartParserError):
            return refusal(400, "This form is not valid", "Nothing was saved. Go back and reload the page.")
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the response to an exception of a view or its template; None leaves it to Django."""
        if API_PATH.match(request.path_info):
            return None
        if isinstance(exception, PasswordHashingBusy):
            text = "Many people are signing in at the moment. Wait a few seconds, then try again."
            return refusal(429, "Try again in a moment", text, retry_after=RETRY_AFTER_SECONDS)
        if isinstance(exception.__cause__, QueryCanceled | TransactionTimeout):
            logger.warning("PostgreSQL canceled a page's statement or transaction")
            text = "Nothing was changed. If this is a list, search for fewer words or choose a filter."
            return refusal(503, "This page took too long", text, retry_after=RETRY_AFTER_SECONDS)
        # BadRequest and SuspiciousOperation are refusals; a DataError is a value that PostgreSQL can't read or compare.
        if isinstance(exception, BadRequest | SuspiciousOperation | DataError):
            return bad_request()
        return None


def count_stream(chunks: Iterable[bytes], started: float, count: Callable[[], Usage]) -> Iterator[bytes]:
    """Yield the chunks of an export; its seconds count when it ends, also if the client goes away before."""
    try:
        yield from chunks
    finally:
        count_slow_seconds(started, count)


def has_bad_parameters(request: HttpRequest) -> bool:
    """Return whether the address has too many parameters, or a NUL character, which PostgreSQL can't store."""
    try:
        parameters = request.GET.lists()
    except SuspiciousOperation:
        return True
    return "\0" in request.path_info or any("\0" in text for name, values in parameters for text in (name, *values))


def bad_request() -> HttpResponse:
    return refusal(400, "This address is not valid", "Go back and follow a link or use a filter of the page.")


def refusal(status: int, title: str, text: str, *, retry_after: int | None = None) -> HttpResponse:
    """Return a short page. It is rendered without the request, whose user and menu would cost queries."""
    headers = {"Retry-After": str(retry_after)} if retry_after else {}
    return HttpResponse(
        render_to_string("refusal.html", {"title": title, "text": text}), status=status, headers=headers
    )
