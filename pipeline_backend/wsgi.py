"""The web server's way in."""

import os
from collections.abc import Callable, Iterable
from typing import Any

import django
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.utils.http import parse_header_parameters

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline_backend.settings")

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]


class Request(WSGIRequest):
    """A request that cannot fail before there is anyone to answer for it."""

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        """The media type, or none where its parameters make no sense.

        Django lets that error through to the server, and reads the query in the body's charset, whatever codec that names.
        Django REST framework reads the header once more.
        """
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except ValueError:
            meta["CONTENT_TYPE"] = self.content_type = ""
            self.content_params = {}


class Handler(WSGIHandler):
    """Django's way from WSGI to the views."""

    request_class = Request


def with_chunked_bodies(serve: Application, limit: int) -> Application:
    """Say of a body without a length that it is one byte too long, since Django would skip it: what is read then shows how long it is.

    It is not read here, where nobody has asked for the key yet.
    """

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower() and not environ.get("CONTENT_LENGTH"):
            environ["CONTENT_LENGTH"] = str(limit + 1)
        return serve(environ, start_response)

    return application


def build() -> Application:
    """Django, with its settings read."""
    django.setup(set_prefix=False)
    from django.conf import settings  # noqa: PLC0415  # after the variable above

    return with_chunked_bodies(Handler(), settings.BODY_LIMIT)


application = build()
