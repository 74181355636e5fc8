"""Which request bodies are read, and how many bytes of all of them together (docs/decisions/0005)."""

from collections import Counter
from dataclasses import dataclass
from wsgiref.types import WSGIEnvironment

from django.conf import settings
from django.urls import Resolver404, resolve

from organizations.keys import parse_key
from pipeline_backend.web.turns import STRANGERS, Sender, Turn

BODY_METHODS = {"POST", "PATCH"}
# Pages that only show something. Every other named route outside of the API may have a form.
ROUTES_WITHOUT_BODY = {"healthz", "readyz", "local-inbox", "home", "index", "app_list", "autocomplete", "jsi18n"}

UPLOAD_PATH = "/admin/leads/import/add/"  # the file of an import is larger than other bodies
FORM_FIELDS = 64 * 1024  # beside the file, or of a form for visitors
SMALL_BODY = 64 * 1024  # almost every request of the API, and every form without a file


class Share:
    """Some of the memory for bodies. Strangers have half of it, and each owner of bodies a part."""

    def __init__(self, limit: int, of_owner: int) -> None:
        self.limit, self.of_owner = limit, of_owner
        self.total = self.of_strangers = 0
        self.by_owner: Counter[str] = Counter()

    def add(self, body: "Body", size: int) -> bool:
        """Count more bytes of the body; return False, and count nothing, if they are too many."""
        # The parts of strangers and of one owner are smaller, so that these can't make us refuse all the others.
        is_full = self.total + size > self.limit
        is_full |= body.is_stranger and self.of_strangers + size > self.limit // 2
        if is_full or not self.has_part(body, size):
            return False
        self.count(body, size)
        return True

    def has_part(self, body: "Body", size: int) -> bool:
        return all(self.by_owner[name] + size <= min(limit, self.of_owner) for name, limit in body.owners.items())

    def count(self, body: "Body", size: int) -> None:
        """Count these bytes of the body; a negative number removes them."""
        self.total += size
        self.of_strangers += size * body.is_stranger
        for name in body.owners:
            self.by_owner[name] += size
            if not self.by_owner[name]:
                del self.by_owner[name]


@dataclass
class Body:
    """A request's body: its owners with their limits, and the share that counts its bytes."""

    owners: dict[str, int]
    is_stranger: bool
    size: int = 0
    share: Share | None = None


class BodyMemory:
    """Counts the bytes of the request bodies in this process: in all, of strangers, and for each owner.

    A body counts from its first byte until a thread has responded to its request: for its client's address, for the
    organization (or the person with several) if the process knows its key or session, and for the person. A stranger is
    a client whose key, session or browser the process doesn't know. Small bodies have a reserve, so that large ones
    never take their place; beyond it they count with the large ones. Only the event loop may call this.
    """

    def __init__(self) -> None:
        reserve = settings.BODIES_LIMIT // 8
        self.small = Share(reserve, reserve // 8)
        self.large = Share(settings.BODIES_LIMIT - reserve, settings.BODIES_LIMIT_PER_CLIENT - reserve // 8)

    def reserve(self, body: Body, size: int) -> bool:
        """Count more bytes of the body; return False, and count nothing, if they are too many."""
        if body.share is not self.large and body.size + size <= SMALL_BODY and self.small.add(body, size):
            body.share = self.small
        else:
            moved = body.size if body.share is self.small else 0
            if not self.large.add(body, moved + size):
                return False
            self.small.count(body, -moved)
            body.share = self.large
        body.size += size
        return True

    def share_without_room(self, body: Body, size: int) -> Share | None:
        """Return the share in which more bytes of the body, which were refused, have no room because of others."""
        moved = 0 if body.share is self.large else body.size
        if self.large.has_part(body, moved + size):
            return self.large
        return self.small if body.size + size <= SMALL_BODY and self.small.has_part(body, size) else None

    def release(self, body: Body) -> None:
        if body.share:
            body.share.count(body, -body.size)
            body.share, body.size = None, 0


def body_of(turn: Turn, address: str) -> Body:
    """Return the unread body of a request from this address with this turn."""
    owners = {f"address {address}": settings.BODIES_LIMIT}
    if turn.sender not in STRANGERS:
        owners[turn.group] = settings.BODIES_LIMIT
    # A person may upload one file at a time.
    if turn.sender in (Sender.IDENTIFIED, Sender.FILE) and turn.client != address:
        owners[turn.client] = settings.IMPORT_LIMIT + FORM_FIELDS
    return Body(owners, turn.sender in STRANGERS)


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
