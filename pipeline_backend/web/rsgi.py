"""The web server's way in: a request's body is read here, with a deadline, before any thread works on the request.

By WSGI the thread itself would wait for the body, and four clients that announce one and stall would stop a worker.
"""

import asyncio
import io
import logging
import sys
from queue import SimpleQueue
from threading import Thread
from typing import Any

from django.conf import settings
from granian.rsgi import HTTPProtocol, ProtocolClosed, ProtocolError, Scope

from pipeline_backend.wsgi import Application, application

# isort: split
from organizations.keys import parse_key  # now that Django is ready

logger = logging.getLogger(__name__)

RawResponse = tuple[int, list[tuple[str, str]], bytes]
QueuedRequest = tuple[dict[str, Any], HTTPProtocol, asyncio.AbstractEventLoop, asyncio.Future[None]]

REQUEST_TIMEOUT: RawResponse = (
    408,
    [("content-type", "application/json"), ("connection", "close")],
    b'{"status":"error","message":"The request body did not arrive in time"}',
)
JOINED_BY = {"HTTP_COOKIE": "; "}


class RsgiApplication:
    """Serves a WSGI application by Granian's own interface (RSGI), with a body as soon as it is whole."""

    def __init__(self, serve: Application) -> None:
        self.serve = serve
        self.waiting: SimpleQueue[QueuedRequest] = SimpleQueue()

    def __rsgi_init__(self, _loop: Any) -> None:
        """In each web process: its threads. A pool's futures would cost as much as all the rest of this file."""
        for number in range(settings.WEB_THREADS):
            Thread(target=self.work, name=f"web-{number}", daemon=True).start()

    async def __rsgi__(self, scope: Scope, protocol: HTTPProtocol) -> None:
        """One request."""
        environ = environment(scope)
        try:
            environ["wsgi.input"] = io.BytesIO(await read_body(environ, protocol))
        except TimeoutError:
            protocol.response_bytes(*REQUEST_TIMEOUT)
            return
        except (ProtocolClosed, ProtocolError):
            return  # nobody is there any more
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self.waiting.put((environ, protocol, loop, done))
        await done

    def work(self) -> None:
        """A thread: one request after another."""
        while True:
            environ, protocol, loop, done = self.waiting.get()
            try:
                protocol.response_bytes(*self.answer(environ))
            except Exception:
                logger.exception("a request was not answered")
            loop.call_soon_threadsafe(finish, done)

    def answer(self, environ: dict[str, Any]) -> RawResponse:
        """What the application says, whole."""
        said: list[Any] = []
        parts = self.serve(environ, lambda status, headers, _=None: said.extend((status, headers)))
        try:
            return int(said[0][:3]), said[1], b"".join(parts)
        finally:
            getattr(parts, "close", tuple)()


def finish(done: asyncio.Future[None]) -> None:
    """The request is over, unless the server gave it up already."""
    if not done.done():
        done.set_result(None)


async def read_body(environ: dict[str, Any], protocol: HTTPProtocol) -> bytes:
    """The body up to the limit; nothing of one that is too long by its own word, or that nobody will ask for."""
    is_chunked = "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()
    announced = environ.get("CONTENT_LENGTH", "")
    is_readable = announced.isdecimal() and 0 < int(announced) <= settings.BODY_LIMIT
    if not (is_chunked or is_readable) or not is_wanted(environ):
        return b""
    body = bytearray()
    async with asyncio.timeout(settings.BODY_SECONDS):
        async for part in protocol:
            body += part
            if len(body) > settings.BODY_LIMIT:
                break
    environ["CONTENT_LENGTH"] = str(len(body))
    return bytes(body)


def is_wanted(environ: dict[str, Any]) -> bool:
    """False for a client of the interface whose key has not even the form of one: it hears so at once."""
    return not environ["PATH_INFO"].startswith("/api/") or parse_key(environ.get("HTTP_X_API_KEY", "")) is not None


def environment(scope: Scope) -> dict[str, Any]:
    """The request as WSGI has it; nothing of the server's own environment, which holds secrets."""
    address, _, _ = scope.client.rpartition(":")
    host, _, port = scope.server.rpartition(":")
    environ = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": as_latin(scope.path),
        "QUERY_STRING": as_latin(scope.query_string),
        "REMOTE_ADDR": address.strip("[]"),
        "SERVER_NAME": host,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "HTTP_HOST": "",  # a request without one is refused, not taken for ours
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


def as_latin(text: str) -> str:
    """WSGI's texts hold a byte in each character."""
    return text.encode().decode("latin-1")


def add_header(environ: dict[str, Any], name: str, value: str) -> None:
    """A header by its name in WSGI; of one that comes twice, both."""
    key = name.upper().replace("-", "_")
    key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
    environ[key] = f"{environ[key]}{JOINED_BY.get(key, ',')}{value}" if environ.get(key) else value


server = RsgiApplication(application)
