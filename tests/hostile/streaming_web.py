"""The web application with a page that streams: /stream?chunks=3 sends three chunks; with `fail` it then fails.

/whole?chunks=3 sends the same from memory, as most views do.

It logs when it begins, and after how many chunks it is closed.
"""

import logging
import time
from collections.abc import Iterator

from pipeline_backend.web.rsgi import server

# isort: split
from django.db import connection  # the import above has set Django up
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path

from pipeline_backend import urls

__all__ = ["CHUNK", "server"]

CHUNK = b"x" * 10_000
logger = logging.getLogger(__name__)


def chunks(count: int, seconds: float, fails: bool) -> Iterator[bytes]:
    """Yield chunks while a cursor of the database is open, with a pause after each."""
    sent = 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        logger.warning("begun")
        try:
            for _ in range(count):
                yield CHUNK
                sent += 1
                time.sleep(seconds)
            if fails:
                raise RuntimeError("failing after the last chunk")
        finally:
            logger.warning("closed after %s chunks", sent)


def stream(request: HttpRequest) -> StreamingHttpResponse:
    """Send chunks as the query says."""
    query = request.GET
    return StreamingHttpResponse(
        chunks(int(query["chunks"]), float(query.get("seconds", "0")), "fail" in query), content_type="text/csv"
    )


def whole(request: HttpRequest) -> HttpResponse:
    return HttpResponse(CHUNK * int(request.GET["chunks"]), content_type="text/csv")


urls.urlpatterns[:0] = [path("stream", stream), path("whole", whole)]
