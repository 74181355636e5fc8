"""The web server's way in."""

import io
import os
from collections.abc import Callable, Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline_backend.settings")

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


def with_chunked_bodies(serve: Application, limit: int) -> Application:
    """Give a body without a length its length, reading no more than shows that it is too large (Django would skip it)."""

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower() and not environ.get("CONTENT_LENGTH"):
            body = environ["wsgi.input"].read(limit + 1)
            environ |= {"CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body)}
        return serve(environ, start_response)

    return application


def build() -> Application:
    """Django, with its settings read."""
    django = get_wsgi_application()
    from django.conf import settings  # noqa: PLC0415  # after the variable above

    return with_chunked_bodies(django, settings.BODY_LIMIT)


application = build()
