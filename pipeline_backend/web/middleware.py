"""Middlewares for those who use pages: the interface has no session, no signed-in person, no messages and no files.

A request to it passes them by, each of them in one comparison: together they take a tenth of a small answer's time. CSRF's
stays in its way, because what isn't exempt below `/api/` should not be so for lack of it.
"""

from typing import Any

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.http import HttpRequest
from whitenoise.middleware import WhiteNoiseMiddleware

INTERFACE = "/api/"


class SkipApi:
    """Mixin: not for the interface."""

    get_response: Any

    def __call__(self, request: HttpRequest) -> Any:
        """What the middleware does, or what comes behind it."""
        if request.path_info.startswith(INTERFACE):
            return self.get_response(request)
        return super().__call__(request)  # type: ignore[misc]  # the middleware's


class StaticFilesMiddleware(SkipApi, WhiteNoiseMiddleware):
    """Styles, scripts and pictures."""


class SessionMiddleware(SkipApi, sessions.SessionMiddleware):
    """`request.session`."""


class AuthMiddleware(SkipApi, AuthenticationMiddleware):
    """`request.user`."""


class MessageMiddleware(SkipApi, messages.MessageMiddleware):
    """What the next page says of the last."""
