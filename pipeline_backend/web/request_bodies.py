"""Which request bodies are read, and how many bytes of all of them together (docs/decisions/0005)."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from wsgiref.types import WSGIEnvironment

from django.conf import settings
from django.urls import Resolver404, resolve

from organizations.keys import parse_key
from pipeline_backend.web.turns import STRANGERS, Turn

BODY_METHODS = {"POST", "PUT", "PATCH"}
# Pages that only show something. Every other named route outside of the API may have a form.
ROUTES_WITHOUT_BODY = {"healthz", "readyz", "local-inbox", "home", "index", "app_list", "autocomplete", "jsi18n"}

UPLOAD_PATH = "/admin/leads/import/add/"  # the file of an import is larger than other bodies
FORM_FIELDS = 64 * 1024  # beside the file, or of a form for visitors
SMALL_BODY = 64 * 1024  # almost every request of the API, and every form without a file

EVERYONE, ALL_STRANGERS = "everyone", "strangers"  # the owners that all bodies have, and those of strangers
STRANGERS_AT = "strangers at "  # and an address


class Share:
    """Some of the memory for bodies. Strangers have half of it, and each other owner of bodies a part."""

    def __init__(self, limit: int, of_owner: int) -> None:
        # The parts of strangers and of one owner are smaller, so that these can't make us refuse all the others.
        self.limits = {EVERYONE: limit, ALL_STRANGERS: limit // 2}
        self.of_owner = of_owner
        self.sizes: Counter[str] = Counter()  # by owner

    def full_parts(self, body: "Body", size: int) -> set[str]:
        """Return the owners of the body whose parts have no room for more bytes of it."""
        limits = {name: min(limit, self.limits.get(name, self.of_owner)) for name, limit in body.owners.items()}
        return {name for name, limit in limits.items() if self.sizes[name] + size > limit}

    def count(self, body: "Body", size: int) -> None:
        """Count these bytes of the body; a negative number removes them."""
        for name in body.owners:
            self.sizes[name] += size
            if not self.sizes[name]:
                del self.sizes[name]


@dataclass(eq=False)
class Body:
    """A request's body: its owners with their limits, and the share that counts its bytes."""

    owners: dict[str, int]
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
        self.reading: dict[Body, asyncio.Timeout] = {}  # the bodies that are being read, the oldest first

    def reserve(self, body: Body, size: int) -> bool:
        """Count more bytes of the body; return False, and count nothing, if they are too many.

        If only others leave no room, end strangers' bodies that are still being read. The oldest first: those of a
        client that stalls, since ordinary ones are read in milliseconds.
        """
        of_all = {EVERYONE, ALL_STRANGERS, *(name for name in body.owners if name.startswith(STRANGERS_AT))}
        while True:
            shares = list(self.possible_shares(body, size))
            for share, added in shares:
                if not share.full_parts(body, added):
                    total = body.size + size
                    self.release(body)
                    share.count(body, total)
                    body.share, body.size = share, total
                    return True
            crowded = [(share, parts) for share, added in shares if (parts := share.full_parts(body, added)) <= of_all]
            strangers = [other for other in self.reading if ALL_STRANGERS in other.owners and other is not body]
            # Each of these leaves room in all parts that are full.
            ends = [
                other
                for share, parts in crowded[-1:]
                for other in strangers
                if other.share is share and parts <= other.owners.keys() and not self.reading[other].expired()
            ]
            # Not for nothing: if others have the room, strangers' bodies stay.
            if sum(other.size for other in ends) < body.size + size:
                return False
            self.reading.pop(ends[0]).reschedule(0)  # times out at once
            self.release(ends[0])

    def possible_shares(self, body: Body, size: int) -> Iterator[tuple[Share, int]]:
        """Yield each share that may count more bytes of the body, and how many it would have to count."""
        if body.share is not self.large and body.size + size <= SMALL_BODY:
            yield self.small, size
        yield self.large, size + (body.size if body.share is self.small else 0)

    def release(self, body: Body) -> None:
        if body.share:
            body.share.count(body, -body.size)
            body.share, body.size = None, 0


def body_of(turn: Turn, address: str) -> Body:
    """Return the unread body of a request from this address with this turn."""
    owners = dict.fromkeys((EVERYONE, f"address {address}"), settings.BODIES_LIMIT)
    is_stranger = turn.sender in STRANGERS
    owners[ALL_STRANGERS if is_stranger else turn.group] = settings.BODIES_LIMIT
    # A person may upload one file at a time, and so may all strangers at an address, whose others have the rest.
    if is_stranger or turn.client != address:
        owners[f"{STRANGERS_AT}{address}" if is_stranger else turn.client] = settings.IMPORT_LIMIT + FORM_FIELDS
    return Body(owners)


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


def seconds_to_read(limit: int) -> int:
    """Return how long a client has for a body that may have this many bytes."""
    return settings.BODY_SECONDS * max(1, limit // settings.BODY_LIMIT)


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
