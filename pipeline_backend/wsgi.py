"""The WSGI application; the web server reaches it through `pipeline_backend.web.rsgi`."""

import os
from typing import Any

import django
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.utils.http import parse_header_parameters

from pipeline_backend.env import load_settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "pipeline_backend.settings")


class Request(WSGIRequest):
    """A request that can be created from any Content-Type header."""

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        """Set the media type and its parameters; both are empty if the header can't be parsed.

        Two differences from Django: a parse error doesn't propagate (it would reach the server, past every error
        handler), and the `charset` parameter is ignored (Django would decode the query string with it).
        """
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except ValueError:
            # Django REST framework parses the header again, so it is emptied there as well.
            meta["CONTENT_TYPE"] = self.content_type = ""
            self.content_params = {}


# As django.core.wsgi.get_wsgi_application() does, but with our request.
load_settings()
django.setup(set_prefix=False)
application = WSGIHandler()
application.request_class = Request
