"""Adapter between Granian's interface (RSGI) and the WSGI application.

A request's body is read here, in the event loop, with a size limit and a deadline; only a complete request occupies a
thread. With plain WSGI the thread itself waits for the body, so four clients that announce a body and stall would stop
a worker process (docs/decisions/0005). Only routes that take a body get one, and the bodies of all requests together
have a limit, so that stalled clients can't fill the memory either.
"""

import asyncio
import json
import logging
import sys
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from threading import Thread
from typing import Any
from wsgiref.types import WSGIEnvironment

from django.conf import settings
from granian.rsgi import HTTPProtocol, ProtocolClosed, ProtocolError, Scope

from pipeline_backend.wsgi import application

# isort: split
# Importable only after django.setup(), which `wsgi` has called.
from pipeline_backend.api.client_address import client_address
from pipeline_backend.api.exceptions import RETRY_AFTER_SECONDS, UNAVAILABLE
from pipeline_backend.web.fair_queue import FairQueue
from pipeline_backend.web.request_bodies import (
    Body,
    BodyMemory,
    BodyMemoryExceededError,
    ClientDisconnectedError,
    announces_body,
    read_body,
    should_read_body,
    takes_body,
)

logger = logging.getLogger(__name__)

# The second argument is WSGI's start_response; none of our responses uses the `write` function that it should return.
Application = Callable[[WSGIEnvironment, Any], Iterable[bytes]]
RawResponse = tuple[int, list[tuple[str, str]], bytes]

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
TOO_MANY_BODIES: RawResponse = (
    503,
    [
        ("content-type", "application/json"),
        ("connection", "close"),
        ("retry-after", str(RETRY_AFTER_SECONDS)),
    ],
    json.dumps({"status": "error", "message": UNAVAILABLE}).encode(),
)
# HTTP/2 may split the Cookie header; all other repeated headers are joined by a comma.
HEADER_SEPARATORS = {"HTTP_COOKIE": "; "}


@dataclass(frozen=True)
class QueuedRequest:
    """A complete request that waits for a thread.

    `client` is the address that its turn is taken by. `is_last` says that the connection can't be used again.
    """

    environ: WSGIEnvironment
    protocol: HTTPProtocol
    loop: asyncio.AbstractEventLoop
    responded: asyncio.Future[None]
    client: str
    body: Body
    is_last: bool


class RsgiApplication:
    """Runs a WSGI application in a few threads per worker process.

    Pages of the admin use at most half of the threads, so that an API request never waits for slow pages only. A page
    beyond that waits in the event loop, where it costs no thread.
    """

    def __init__(self, wsgi_application: Application) -> None:
        self.wsgi_application = wsgi_application
        self.requests: FairQueue[QueuedRequest] = FairQueue()
        self.body_memory = BodyMemory()
        # Used in the event loop only, so they need no lock.
        self.waiting_pages: deque[QueuedRequest] = deque()
        self.free_page_threads = max(1, settings.WEB_THREADS // 2)

    def __rsgi_init__(self, _loop: asyncio.AbstractEventLoop) -> None:
        """Start the threads. Granian calls this once in each worker process."""
        takes_body("POST", "/")  # imports the URL configuration, which would stop the event loop later
        # Not a ThreadPoolExecutor: its futures would double the cost of this adapter.
        for number in range(settings.WEB_THREADS):
            Thread(target=self._worker, name=f"web-{number}", daemon=True).start()

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        """Read a request, queue it for a thread and wait until the thread has responded."""
        environ = build_environ(scope)
        client = client_address(environ)
        body = Body(self.body_memory, client)
        has_unread_body = announces_body(environ)
        if should_read_body(environ, scope.path):
            if not await self.read_body(environ, protocol, body):
                return
            has_unread_body = body.size > settings.BODY_LIMIT
        environ["wsgi.input"] = body.to_stream()
        loop = asyncio.get_running_loop()
        responded = loop.create_future()
        request = QueuedRequest(environ, protocol, loop, responded, client, body, is_last=has_unread_body)
        if not is_page(environ):
            self.requests.put(client, request)
        elif not self.queue_page(request):
            body.release()
            protocol.response_bytes(*TOO_MANY_PAGES)
            return
        await responded

    async def read_body(self, environ: WSGIEnvironment, protocol: HTTPProtocol, body: Body) -> bool:
        """Read the body; return False if the request can't be served, and has been answered if its client is there."""
        is_read = False
        try:
            await read_body(environ, protocol, body)
            is_read = True
        except TimeoutError:
            protocol.response_bytes(*REQUEST_TIMEOUT)
        except BodyMemoryExceededError:
            protocol.response_bytes(*TOO_MANY_BODIES)
        except (ProtocolClosed, ProtocolError, ClientDisconnectedError):
            pass
        finally:
            if not is_read:
                body.release()
        return is_read

    def queue_page(self, request: QueuedRequest) -> bool:
        """Queue a page for a thread, or let it wait; return False if too many wait already."""
        if self.free_page_threads:
            self.free_page_threads -= 1
            self.requests.put(request.client, request)
            return True
        if len(self.waiting_pages) >= MAX_WAITING_PAGES:
            return False
        self.waiting_pages.append(request)
        return True

    def finish(self, request: QueuedRequest) -> None:
        """End a request to which a thread has responded; if it was a page, its thread may take the next one."""
        # Not before: a client may disconnect while its request, with its body, is still in the queue.
        request.body.release()
        # The server cancels the future if the client disconnects first.
        if not request.responded.done():
            request.responded.set_result(None)
        if not is_page(request.environ):
            return
        while self.waiting_pages:
            page = self.waiting_pages.popleft()
            if not page.responded.cancelled():
                self.requests.put(page.client, page)
                return
            page.body.release()
        self.free_page_threads += 1

    def _worker(self) -> None:
        while True:
            request = self.requests.get()
            try:
                status, headers, content = self.get_response(request.environ)
                if request.is_last:
                    # The server closes a connection with an unread body. A proxy that is not told so would send the
                    # next request on it, perhaps of another client, which would then fail.
                    headers.append(("connection", "close"))
                request.protocol.response_bytes(status, headers, content)
            # No error may end this thread, because nothing starts another one in its place.
            except Exception:
                logger.exception("could not respond to a request")
            request.loop.call_soon_threadsafe(self.finish, request)

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
        # As `x-forwarded-for` and `x_forwarded_for` have the same WSGI name, a client could send the second one through
        # a proxy that sets only the first one.
        if "_" not in name:
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
