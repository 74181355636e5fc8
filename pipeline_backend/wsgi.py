"""The application, as WSGI has it; `rsgi.py` brings it the requests."""

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


def build() -> Application:
    """Django, with its settings read."""
    django.setup(set_prefix=False)
    return Handler()


application = build()
