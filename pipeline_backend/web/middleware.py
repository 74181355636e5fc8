"""Middlewares: Django's for pages, which API requests skip; compression; the admin's time zone; security headers.

Skipping sessions, users, messages and static files saves about 10 % of a small API response's time. CSRF protection is
not skipped: an API view has to opt out of it explicitly.
"""

import re
from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from whitenoise.middleware import WhiteNoiseMiddleware

from foundation.db.timestamps import get_zone

Handler = Callable[[HttpRequest], HttpResponse]

# Also /api, /API/ and //api/, because a client that has a path slightly wrong reads JSON and no pages.
API_PATH = re.compile("^/*[aA][pP][iI]")

CSP_NONE = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
CSP_SELF = (
    "default-src 'none'; connect-src 'self'; font-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# Alpine.js, which the admin uses, evaluates expressions in attributes; the theme and status colors are inline styles.
CSP_ADMIN = f"{CSP_SELF}; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'"
# Swagger UI's page has an inline style.
CSP_DOCS = f"{CSP_SELF}; script-src 'self'; style-src 'self' 'unsafe-inline'"
CSP_PAGE = f"{CSP_SELF}; style-src 'self'"

POLICIES = {"/admin/": CSP_ADMIN, "/local/": CSP_PAGE, "/unsubscribe/": CSP_PAGE}
POLICIES |= {"/api/docs/": CSP_PAGE, "/api/docs": CSP_DOCS}  # the guides, and Swagger UI
OPEN_API_PATHS = {"/api/docs", "/api/schema"}  # the same for every client
MIN_COMPRESSED_BYTES = 1000
PERMISSIONS_POLICY = "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


class SkipApi:
    """Mixin that passes API requests straight to the next middleware."""

    get_response: Any  # as the middlewares' own type stubs have it

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if API_PATH.match(request.path_info):
            return self.get_response(request)
        return super().__call__(request)  # type: ignore[misc]  # defined by the middleware that is mixed in


class StaticFilesMiddleware(SkipApi, WhiteNoiseMiddleware):
    """Serves styles, scripts and images; removes codings with weight 0 from `Accept-Encoding`.

    WhiteNoise and Django's GZipMiddleware look for the word "gzip" in that header, and would find it in `gzip;q=0`.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        codings = request.META.get("HTTP_ACCEPT_ENCODING", "").lower().split(",")
        request.META["HTTP_ACCEPT_ENCODING"] = ",".join(filter(is_accepted, codings))
        return super().__call__(request)


def is_accepted(coding: str) -> bool:
    """Return whether a member of `Accept-Encoding` has no weight or one above 0 (RFC 9110, 12.5.3)."""
    parameters = [parameter.strip() for parameter in coding.split(";")[1:]]
    try:
        return all(float(parameter[2:]) > 0 for parameter in parameters if parameter.startswith("q="))
    except ValueError:
        return False


class CompressionMiddleware(GZipMiddleware):
    """Compresses responses of 1 kB and more for clients that accept gzip.

    A page with a secret has `Content-Encoding: identity`, and is not compressed: its length could tell something about
    the secret (BREACH). On other pages Django masks the CSRF token and adds a random number of bytes against this.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.headers.get("Content-Encoding") == "identity":
            del response.headers["Content-Encoding"]
            return response
        if isinstance(response, HttpResponse) and len(response.content) < MIN_COMPRESSED_BYTES:
            return response
        return super().process_response(request, response)


class SessionMiddleware(SkipApi, sessions.SessionMiddleware):
    """Sets `request.session`."""


class AuthMiddleware(SkipApi, AuthenticationMiddleware):
    """Sets `request.user`."""


class MessageMiddleware(SkipApi, messages.MessageMiddleware):
    """Stores messages that the next page shows."""


def security_headers(get_response: Handler) -> Handler:
    def set_headers(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        path = request.path_info
        policies = (policy for prefix, policy in POLICIES.items() if path.startswith(prefix))
        response["Content-Security-Policy"] = CSP_PAGE if path == "/" else next(policies, CSP_NONE)
        response["Permissions-Policy"] = PERMISSIONS_POLICY
        if path.startswith("/admin/"):
            response.headers.setdefault("Cache-Control", "no-store")  # almost every page shows people's data
        response["X-Frame-Options"] = "DENY"  # newer releases of unfold set SAMEORIGIN on some pages
        # The guides set how long caches keep them.
        if API_PATH.match(path) and path not in OPEN_API_PATHS and "Cache-Control" not in response:
            response["Cache-Control"] = "no-store"
            # Shared caches know that responses depend on `Authorization`, but not that they depend on this header.
            patch_vary_headers(response, ["x-api-key"])
        return response

    return set_headers


def admin_time_zone(get_response: Handler) -> Handler:
    def use_time_zone(request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith("/admin/") or not request.user.is_authenticated:
            return get_response(request)
        with timezone.override(get_zone(request.user.time_zone)):
            return get_response(request)

    return use_time_zone
