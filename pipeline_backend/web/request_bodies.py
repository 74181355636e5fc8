"""Which request bodies are read, and how many bytes of all of them together (docs/decisions/0005)."""

from collections import Counter
from wsgiref.types import WSGIEnvironment

from django.conf import settings
from django.urls import Resolver404, resolve

from organizations.keys import parse_key

BODY_METHODS = {"POST", "PATCH"}
# Pages that only show something. Every other named route outside of the API may have a form.
ROUTES_WITHOUT_BODY = {"healthz", "readyz", "local-inbox", "home", "index", "app_list", "autocomplete", "jsi18n"}


# The file of an import is larger than other bodies.
UPLOAD_PATH = "/admin/leads/import/add/"
FORM_FIELDS = 64 * 1024  # beside the file, or of a form for visitors


class BodyMemory:
    """Counts the bytes of the request bodies in this process: in all, of strangers, and for each client.

    A stranger is a client whose key or session the process doesn't know. A body counts from its first byte until a
    thread has responded to its request. Only the event loop may call this.
    """

    def __init__(self) -> None:
        self.total = self.of_strangers = 0
        self.by_client: Counter[str] = Counter()

    def reserve(self, client: str, size: int, *, is_stranger: bool) -> bool:
        """Count more bytes; return False, and count nothing, if they are too many."""
        # The shares of strangers and of one client are smaller, so that these can't make us refuse all the others.
        own, of_strangers = self.by_client[client] + size, self.of_strangers + size * is_stranger
        if self.total + size > settings.BODIES_LIMIT or own > settings.BODIES_LIMIT_PER_CLIENT:
            return False
        if is_stranger and of_strangers > settings.BODIES_LIMIT // 2:
            return False
        self.total += size
        self.of_strangers = of_strangers
        self.by_client[client] = own
        return True

    def release(self, client: str, size: int, *, is_stranger: bool) -> None:
        self.total -= size
        self.of_strangers -= size * is_stranger
        self.by_client[client] -= size
        if not self.by_client[client]:
            del self.by_client[client]


def announces_body(environ: WSGIEnvironment) -> bool:
    return is_chunked(environ) or environ.get("CONTENT_LENGTH", "0") != "0"


def is_chunked(environ: WSGIEnvironment) -> bool:
    return "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()


def body_limit(environ: WSGIEnvironment, path: str) -> int:
    """Return how many bytes the request's body may have: more for an upload, less for a form without a session."""
    if not path.startswith("/admin/"):
        return settings.BODY_LIMIT
    if f"{settings.SESSION_COOKIE_NAME}=" not in environ.get("HTTP_COOKIE", ""):
        return FORM_FIELDS
    return settings.IMPORT_LIMIT + FORM_FIELDS if path == UPLOAD_PATH else settings.BODY_LIMIT


def should_read_body(environ: WSGIEnvironment, path: str) -> bool:
    """Return whether the request has a body that its route takes.

    One that is announced as too long is not read: the parser refuses it. Neither is the body of an API request without
    a well-formed key, which is refused (401).
    """
    content_length = environ.get("CONTENT_LENGTH", "")
    is_within_limit = content_length.isdecimal() and 0 < int(content_length) <= body_limit(environ, path)
    if not (is_chunked(environ) or is_within_limit):
        return False
    if path.startswith("/api/") and parse_key(environ.get("HTTP_X_API_KEY", "")) is None:
        return False
    return takes_body(environ["REQUEST_METHOD"], path)


def takes_body(method: str, path: str) -> bool:
    if method not in BODY_METHODS:
        return False
    try:
        match = resolve(path)
    except Resolver404:
        return False
    if path.startswith("/api/"):
        # Of the API's views, only viewsets have methods that write; `actions` names them.
        return method.lower() in getattr(match.func, "actions", {})
    # A route without a name redirects, or answers 404 for the admin.
    name = match.url_name
    return name is not None and name not in ROUTES_WITHOUT_BODY and not name.endswith("_history")
