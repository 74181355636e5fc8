"""Adapter between Granian's interface (RSGI) and the WSGI application.

A request's body is read here, in the event loop, with a size limit and a deadline; only a complete request occupies a
thread. With plain WSGI the thread itself waits for the body, so four clients that announce a body and stall would stop
a worker process (docs/decisions/0005).
"""

import asyncio
import io
import logging
import sys
from collections import deque
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from threading import Thread
from typing import Any
from wsgiref.types import WSGIEnvironment

from django.conf import settings
from granian.rsgi import HTTPProtocol, ProtocolClosed, ProtocolError, Scope

from pipeline_backend.wsgi import application

# isort: split
from organizations.keys import parse_key  # importable only after django.setup(), which `wsgi` has called

logger = logging.getLogger(__name__)

# The second argument is WSGI's start_response; none of our responses uses the `write` function that it should return.
Application = Callable[[WSGIEnvironment, Any], Iterable[bytes]]
RawResponse = tuple[int, list[tuple[str, str]], bytes]
QueuedRequest = tuple[WSGIEnvironment, HTTPProtocol, asyncio.AbstractEventLoop, asyncio.Future[None]]

REQUEST_TIMEOUT: RawResponse = (
    408,
    [("content-type", "application/json"), ("connection", "close")],
    b'{"status":"error","message":"The request body did not arrive in time"}',
)
TOO_MANY_PAGES: RawResponse = (
    503,
    [("content-type", "text/plain; charset=utf-8"), ("retry-after", "5")],
    b"Too many pages are waiting. Reload this one in a few seconds.",
)
MAX_WAITING_PAGES = 100  # per process
# HTTP/2 may split the Cookie header; all other repeated headers are joined by a comma.
HEADER_SEPARATORS = {"HTTP_COOKIE": "; "}


class RsgiApplication:
    """Runs a WSGI application in a few threads per worker process.

    Pages of the admin use at most half of the threads, so that an API request never waits for slow pages only. A page
    beyond that waits in the event loop, where it costs no thread.
    """

    def __init__(self, wsgi_application: Application) -> None:
        self.wsgi_application = wsgi_application
        self.requests: SimpleQueue[QueuedRequest] = SimpleQueue()
        # Used in the event loop only, so they need no lock.
        self.waiting_pages: deque[QueuedRequest] = deque()
        self.free_page_threads = max(1, settings.WEB_THREADS // 2)

    def __rsgi_init__(self, _loop: asyncio.AbstractEventLoop) -> None:
        """Start the threads. Granian calls this once in each worker process."""
        # Not a ThreadPoolExecutor: its futures would double the cost of this adapter.
        for number in range(settings.WEB_THREADS):
            Thread(target=self._worker, name=f"web-{number}", daemon=True).start()

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        """Read a request, queue it for a thread and wait until the thread has responded."""
        environ = build_environ(scope)
        try:
            environ["wsgi.input"] = io.BytesIO(await read_body(environ, protocol))
        except TimeoutError:
            protocol.response_bytes(*REQUEST_TIMEOUT)
            return
        except (ProtocolClosed, ProtocolError):
            return  # the client has disconnected
        loop = asyncio.get_running_loop()
        responded = loop.create_future()
        request = (environ, protocol, loop, responded)
        if not is_page(environ):
            self.requests.put(request)
        elif not self.queue_page(request):
            protocol.response_bytes(*TOO_MANY_PAGES)
            return
        await responded

    def queue_page(self, request: QueuedRequest) -> bool:
        """Queue a page for a thread, or let it wait; return False if too many wait already."""
        if self.free_page_threads:
            self.free_page_threads -= 1
            self.requests.put(request)
            return True
        if len(self.waiting_pages) >= MAX_WAITING_PAGES:
            return False
        self.waiting_pages.append(request)
        return True

    def finish(self, request: QueuedRequest) -> None:
        """End a request to which a thread has responded; if it was a page, its thread may take the next one."""
        environ, _, _, responded = request
        # The server cancels the future if the client disconnects first.
        if not responded.done():
            responded.set_result(None)
        if not is_page(environ):
            return
        while self.waiting_pages:
            page = self.waiting_pages.popleft()
            if not page[3].cancelled():
                self.requests.put(page)
                return
        self.free_page_threads += 1

    def _worker(self) -> None:
        while True:
            request = self.requests.get()
            environ, protocol, loop, _ = request
            try:
                protocol.response_bytes(*self.get_response(environ))
            # No error may end this thread, because nothing starts another one in its place.
            except Exception:
                logger.exception("could not respond to a request")
            loop.call_soon_threadsafe(self.finish, request)

    def get_response(self, environ: WSGIEnvironment) -> RawResponse:
        """Call the WSGI application and return its whole response."""
        start: list[Any] = []
        chunks = self.wsgi_application(environ, lambda status, headers, _=None: start.extend((status, headers)))
        try:
            return int(start[0][:3]), start[1], b"".join(chunks)
        finally:
            # WSGI requires this; Django ends the request (signals, database connections) in it.
            getattr(chunks, "close", tuple)()


def is_page(environ: WSGIEnvironment) -> bool:
    """Return whether this is a request for a page of the admin, which can take seconds."""
    path: str = environ["PATH_INFO"]
    return path.startswith("/admin/")


async def read_body(environ: WSGIEnvironment, protocol: HTTPProtocol) -> bytes:
    """Return the body and set CONTENT_LENGTH to the size that was read.

    Return b"" without reading if the body is announced as too long, or if nothing will use it. Of a chunked body, whose
    size isn't announced, read just past the limit: the parser then refuses it.

    Raises TimeoutError if the body doesn't arrive within BODY_SECONDS.
    """
    is_chunked = "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()
    content_length = environ.get("CONTENT_LENGTH", "")
    is_within_limit = content_length.isdecimal() and 0 < int(content_length) <= settings.BODY_LIMIT
    if not (is_chunked or is_within_limit) or not should_read_body(environ):
        return b""
    body = bytearray()
    async with asyncio.timeout(settings.BODY_SECONDS):
        async for chunk in protocol:
            body += chunk
            if len(body) > settings.BODY_LIMIT:
                break
    environ["CONTENT_LENGTH"] = str(len(body))
    return bytes(body)


def should_read_body(environ: WSGIEnvironment) -> bool:
    """Return False for an API request without a well-formed key: it is refused (401) without waiting for its body."""
    return not environ["PATH_INFO"].startswith("/api/") or parse_key(environ.get("HTTP_X_API_KEY", "")) is not None


def build_environ(scope: Scope) -> WSGIEnvironment:
    """Return the WSGI environment of a request."""
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
        add_header(environ, name, value)
    return environ


def to_latin1(text: str) -> str:
    """Return the text as WSGI wants it: each character is one byte of the UTF-8 encoding."""
    return text.encode().decode("latin-1")


def add_header(environ: WSGIEnvironment, name: str, value: str) -> None:
    """Add a header under its WSGI name; values of a repeated header are joined."""
    key = name.upper().replace("-", "_")
    key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
    environ[key] = f"{environ[key]}{HEADER_SEPARATORS.get(key, ',')}{value}" if environ.get(key) else value


server = RsgiApplication(application)
