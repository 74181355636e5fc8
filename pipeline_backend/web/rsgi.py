"""Adapter between Granian's interface (RSGI) and the WSGI application.

Only a complete request occupies a thread, and a streamed response is written to a temporary file before it is sent.
With plain WSGI, four clients that announce a body and stall would stop a process (docs/decisions/0005).
"""

import asyncio
import io
import logging
import os
import sys
from collections.abc import Callable, Iterable
from tempfile import SpooledTemporaryFile
from threading import Thread
from typing import Any
from wsgiref.types import WSGIEnvironment

import orjson
from django.conf import settings
from granian.rsgi import HTTPProtocol, ProtocolClosed, ProtocolError, Scope

from pipeline_backend.wsgi import application

# isort: split
# Importable only after django.setup(), which `wsgi` has called.
from foundation.api.client_address import client_address
from foundation.api.exceptions import RETRY_AFTER_SECONDS, UNAVAILABLE
from foundation.api.request_owner import PERSON
from foundation.metrics.definitions import LIMITS_EXCEEDED
from pipeline_backend.web import turns
from pipeline_backend.web.credentials import KnownCredentials, PageCounter, digest_of_credential
from pipeline_backend.web.metrics import count_refusal
from pipeline_backend.web.middleware import API_PATH
from pipeline_backend.web.request_bodies import (
    Body,
    BodyMemory,
    announces_body,
    body_limit,
    body_of,
    should_read_body,
    takes_body,
)

logger = logging.getLogger(__name__)

# The second argument is WSGI's start_response; none of our responses uses the `write` function that it should return.
Application = Callable[[WSGIEnvironment, Any], Iterable[bytes]]
Headers = list[tuple[str, str]]
Refusal = tuple[int, Headers, bytes]


def json_error(message: str) -> bytes:
    return orjson.dumps({"status": "error", "message": message})


NOT_STORED = ("cache-control", "no-store")
JSON: Headers = [("content-type", "application/json"), NOT_STORED, ("vary", "x-api-key")]
JSON_AND_CLOSE: Headers = [*JSON, ("connection", "close")]
RETRY: Headers = [("retry-after", str(RETRY_AFTER_SECONDS))]
REQUEST_TIMEOUT: Refusal = (408, JSON_AND_CLOSE, json_error("The request body did not arrive in time"))
TOO_MANY_BODIES: Refusal = (503, JSON_AND_CLOSE + RETRY, json_error(UNAVAILABLE))
LONG_HEADER: Refusal = (
    431,
    JSON,
    json_error(
        "A header is too long: Content-Type may have 256 bytes, Accept-Encoding 512 and every other header 8,192"
    ),
)
PLAIN_TEXT: Headers = [("content-type", "text/plain; charset=utf-8"), NOT_STORED]
LONG_HEADER_OF_PAGE: Refusal = (
    431,
    PLAIN_TEXT,
    b"Your browser has sent a header that is too long. Delete the cookies of this site, then try again.",
)
TURN_REFUSALS: dict[turns.Refusal, Refusal] = {
    turns.Refusal.TOO_MANY_PAGES: (
        503,
        PLAIN_TEXT + RETRY,
        b"Too many pages are waiting. Reload this one in a few seconds.",
    ),
    turns.Refusal.TOO_MANY_REQUESTS: (429, [*JSON, ("retry-after", "1")], json_error("Too many requests at once")),
}
TOO_MANY_ANONYMOUS_PAGES = b"Too many pages were requested from your browser or network. Wait a minute, then try again."
# Neither pages nor the API, and fast to answer. deploy/nginx.conf names those of a server, too.
FAST_PATHS = {"/healthz", "/readyz", "/metrics", "/favicon.ico", "/local/inbox"}
RESPONSE_MEMORY = 1024 * 1024  # of a streamed response; a longer one is written to a file
FILE_SECONDS = 60  # for which such a file is kept for Granian to open it, which takes milliseconds
# Of one header, or of all with its name. Both of these are parsed in Python, piece by piece. Browsers send fewer than
# 100 bytes; a boundary has at most 70.
HEADER_BYTES = {"CONTENT_TYPE": 256, "HTTP_ACCEPT_ENCODING": 512}
OTHER_HEADER_BYTES = 8192  # browsers cut Referer at 4,096, and nginx refuses longer lines, too
# HTTP/2 may split the Cookie header; all other repeated headers are joined by a comma.
HEADER_SEPARATORS = {"HTTP_COOKIE": "; "}


class Request:
    def __init__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        self.path, self.protocol = scope.path, protocol
        self.environ = build_environ(scope)
        self.client = client_address(self.environ)
        self.is_api = API_PATH.match(self.path) is not None
        # A page can take seconds.
        self.is_page = not (self.is_api or self.path in FAST_PATHS or self.path.startswith("/static/"))
        self.credential = digest_of_credential(self.environ, self.path, is_api=self.is_api)
        self.turn = turns.Turn("", "")
        self.status = 0
        self.body = Body({}, is_stranger=True)  # while nothing of it is counted
        self.is_given_up = False  # its body made room for another one
        # The server closes a connection with an unread body, and has to say so (`Connection: close`). Otherwise a proxy
        # sends the next request on it, perhaps of another client, and that request fails.
        self.has_unread_body = announces_body(self.environ)
        self.loop = asyncio.get_running_loop()
        # Its result is a refusal, or None if a thread has responded.
        self.responded: asyncio.Future[Refusal | None] = self.loop.create_future()


class RsgiApplication:
    """Runs a WSGI application in a few threads per worker process; `turns` decides which request is next."""

    def __init__(self, wsgi_application: Application) -> None:
        self.wsgi_application = wsgi_application
        self.turns = turns.Turns[Request](settings.WEB_THREADS, self.give_up)
        # Used in the event loop only, so they need no lock.
        self.body_memory = BodyMemory()
        self.reading: dict[Request, asyncio.Timeout] = {}  # the requests whose body is being read, the oldest first
        self.credentials = KnownCredentials()
        self.anonymous_pages = PageCounter()

    def __rsgi_init__(self, _loop: asyncio.AbstractEventLoop) -> None:
        """Start the threads. Granian calls this once in each worker process."""
        takes_body("POST", "/")  # imports the URL configuration, which would stop the event loop later
        # Not a ThreadPoolExecutor: its futures would double the cost of this adapter.
        for number in range(settings.WEB_THREADS):
            Thread(target=self._worker, name=f"web-{number}", daemon=True).start()

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        """Read a request, queue it for a thread and wait until the thread has responded."""
        request = Request(scope, protocol)
        refusal: Refusal | None = TOO_MANY_BODIES
        try:
            refusal = refuse_long_header(request) or await self.read_body(request) or self.queue(request)
        finally:
            if refusal:
                self.body_memory.release(request.body)
        refusal = refusal or await request.responded
        if refusal:
            count_refusal(scope.method, refusal[0])
            protocol.response_bytes(*refusal)

    async def read_body(self, request: Request) -> Refusal | None:
        """Read the body if the request's route takes one; return a refusal if it does not arrive, or is one too many.

        Of a chunked body, whose size isn't announced, this reads just past the limit: the parser then refuses it.
        """
        body, announced = bytearray(), request.environ.get("CONTENT_LENGTH", "")
        limit = body_limit(request.environ, request.path)
        if should_read_body(request.environ, request.path):
            turn = self.credentials.find(request.credential, request.environ, request.client, is_page=request.is_page)
            request.body = body_of(turn, request.client)
            try:
                async with asyncio.timeout(settings.BODY_SECONDS) as self.reading[request]:
                    async for chunk in request.protocol:
                        if not self.make_room(request, len(chunk)):
                            return TOO_MANY_BODIES
                        body += chunk
                        if request.body.size > limit:
                            break
            except (TimeoutError, ProtocolClosed, ProtocolError):
                return REQUEST_TIMEOUT
            finally:
                self.reading.pop(request, None)
            # It may have arrived just then. And Granian ends the loop without an error if the client disconnects.
            if request.is_given_up or (announced.isdecimal() and request.body.size < int(announced)):
                return REQUEST_TIMEOUT
            request.environ["CONTENT_LENGTH"] = str(request.body.size)
            request.has_unread_body = request.body.size > limit
        request.environ["wsgi.input"] = io.BytesIO(body)
        return None

    def make_room(self, request: Request, size: int) -> bool:
        """Count more bytes of the request's body. If there is no room, end strangers' bodies that are still being read.

        The oldest first: those of a client that stalls, since ordinary ones are read in milliseconds.
        """
        while not self.body_memory.reserve(request.body, size):
            share = self.body_memory.share_without_room(request.body, size)
            others = [
                other for other, timeout in self.reading.items() if not timeout.expired() and other is not request
            ]
            ends = [other for other in others if other.body.is_stranger and other.body.share is share]
            # Not for nothing: if others have the room, strangers' bodies stay.
            if share is None or sum(other.body.size for other in ends) < request.body.size + size:
                return False
            self.reading.pop(ends[0]).reschedule(request.loop.time())
            self.body_memory.release(ends[0].body)
            ends[0].is_given_up = True
        return True

    def queue(self, request: Request) -> Refusal | None:
        request.turn = self.credentials.find(
            request.credential, request.environ, request.client, is_page=request.is_page
        )
        if request.is_page:
            retry_after = self.anonymous_pages.retry_after(request.turn.client)
            if retry_after:
                LIMITS_EXCEEDED.labels("anonymous-pages").inc()
                headers = [*PLAIN_TEXT, ("retry-after", str(retry_after)), *closing(request)]
                return 429, headers, TOO_MANY_ANONYMOUS_PAGES
        reason = self.turns.put(request.turn, request)
        return turn_refusal(request, reason) if reason else None

    def give_up(self, request: Request) -> None:
        """Refuse a waiting page, which gives way to another one. The event loop calls this, by `put`."""
        self.body_memory.release(request.body)
        if not request.responded.done():
            request.responded.set_result(turn_refusal(request, turns.Refusal.TOO_MANY_PAGES))

    def finish(self, request: Request) -> None:
        """End a request to which a thread has responded."""
        # Not before: a client may disconnect while its request, with its body, is still in the queue.
        self.body_memory.release(request.body)
        if not request.responded.done():  # a server that stops cancels it
            request.responded.set_result(None)
        self.credentials.learn(request.credential, request.environ, request.status)
        if request.is_page and PERSON not in request.environ:
            # Its session may have ended with this request: then it belongs to its browser or address again.
            turn = self.credentials.find(request.credential, request.environ, request.client, is_page=True)
            self.anonymous_pages.add(turn.client)

    def _worker(self) -> None:
        while True:
            request = self.turns.get()
            try:
                self.respond(request)
            # No error may end this thread, because nothing starts another one in its place.
            except Exception:
                logger.exception("could not respond to a request")
            self.turns.finish(request.turn)
            request.loop.call_soon_threadsafe(self.finish, request)

    def respond(self, request: Request) -> None:
        start: list[Any] = []
        chunks = self.wsgi_application(request.environ, lambda *arguments: start.extend(arguments))
        try:
            request.status, headers = int(start[0][:3]), start[1]
            if request.has_unread_body:
                headers.append(("connection", "close"))
            if getattr(chunks, "streaming", False):  # one of Django's streamed responses
                self.send_streamed(request, request.status, headers, chunks)
            else:
                request.protocol.response_bytes(request.status, headers, b"".join(chunks))
        finally:
            # WSGI requires this; Django ends the request (signals, database connections) in it.
            getattr(chunks, "close", tuple)()

    def send_streamed(self, request: Request, status: int, headers: Headers, chunks: Iterable[bytes]) -> None:
        """Send a streamed response as soon as its last chunk is there; stop if the client goes away before."""
        gone = asyncio.run_coroutine_threadsafe(wait_for_disconnect(request.protocol), request.loop)
        with SpooledTemporaryFile(max_size=RESPONSE_MEMORY) as file:
            try:
                for chunk in chunks:
                    if gone.done():
                        return
                    file.write(chunk)
            finally:
                gone.cancel()
            size = file.tell()
            file.seek(0)
            if not any(name.lower() == "content-length" for name, _ in headers):
                headers.append(("Content-Length", str(size)))
            if size <= RESPONSE_MEMORY:
                request.protocol.response_bytes(status, headers, file.read())
                return
            descriptor = os.dup(file.fileno())
        request.protocol.response_file(status, headers, f"/dev/fd/{descriptor}")
        request.loop.call_soon_threadsafe(request.loop.call_later, FILE_SECONDS, os.close, descriptor)


def turn_refusal(request: Request, reason: turns.Refusal) -> Refusal:
    LIMITS_EXCEEDED.labels(reason.value).inc()
    status, headers, body = TURN_REFUSALS[reason]
    return status, headers + closing(request), body


def closing(request: Request) -> Headers:
    return [("connection", "close")] if request.has_unread_body else []


async def wait_for_disconnect(protocol: HTTPProtocol) -> None:
    """Return when the client goes away; it does not return after the response."""
    await protocol.client_disconnect()


def build_environ(scope: Scope) -> WSGIEnvironment:
    address, _, _ = scope.client.rpartition(":")
    host, _, port = scope.server.rpartition(":")
    # Built from scratch, not from os.environ as most servers do: that holds the secrets of the deployment.
    environ: WSGIEnvironment = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": to_latin1(scope.path),
        "QUERY_STRING": to_latin1(scope.query_string),
        "REMOTE_ADDR": address.strip("[]"),
        "SERVER_NAME": host,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        # Django would fall back to SERVER_NAME, which is allowed; a request without a Host header must be refused.
        "HTTP_HOST": "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope.headers.items():
        # As `x-forwarded-for` and `x_forwarded_for` have the same WSGI name, a client could send the second one through
        # a proxy that sets only the first one.
        if "_" not in name:
            add_header(environ, name, value)
    # No cookie of ours has a backslash. Before 3.11.10 and 3.12.6, Python takes quadratic time for many in one quoted
    # value (CVE-2024-7592). Replaced and not removed, so that the name of another cookie doesn't become that of ours.
    if "HTTP_COOKIE" in environ:
        environ["HTTP_COOKIE"] = environ["HTTP_COOKIE"].replace("\\", "/")
    return environ


def refuse_long_header(request: Request) -> Refusal | None:
    """Return a refusal if a header is longer than any client sends it: parsing it could take milliseconds."""
    if all(
        len(value) <= HEADER_BYTES.get(key, OTHER_HEADER_BYTES)
        for key, value in request.environ.items()
        if key.startswith(("HTTP_", "CONTENT_"))
    ):
        return None
    status, headers, body = LONG_HEADER if request.is_api else LONG_HEADER_OF_PAGE
    return status, headers + closing(request), body


def to_latin1(text: str) -> str:
    """Return the text as WSGI wants it: each character is one byte of the UTF-8 encoding."""
    return text.encode().decode("latin-1")


def add_header(environ: WSGIEnvironment, name: str, value: str) -> None:
    """Add a header under its WSGI name; values of a repeated header are joined."""
    key = name.upper().replace("-", "_")
    key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
    environ[key] = f"{environ[key]}{HEADER_SEPARATORS.get(key, ',')}{value}" if environ.get(key) else value


server = RsgiApplication(application)
