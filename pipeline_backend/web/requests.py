"""A request of Granian's interface (RSGI), with the environment that WSGI wants."""

import asyncio
import sys
from wsgiref.types import WSGIEnvironment

from granian.rsgi import HTTPProtocol, Scope

from foundation.api.client_address import client_address
from pipeline_backend.web.credentials import digest_of_credential
from pipeline_backend.web.middleware import API_PATH
from pipeline_backend.web.request_bodies import Body, announces_body
from pipeline_backend.web.turns import Turn

Headers = list[tuple[str, str]]
Refusal = tuple[int, Headers, bytes]  # as Granian's response_bytes() takes it

# Neither pages nor the API, and fast to answer. deploy/nginx.conf names those of a server, too. The last two receive
# webhooks of the local run, thousands after an import.
FAST_PATHS = {"/livez", "/healthz", "/readyz", "/metrics", "/favicon.ico", "/local/inbox", "/local/removed"}

# Without the value of one of these, a request would mean something else. Other headers may be unreadable.
ASCII_HEADERS = frozenset({"cookie", "idempotency-key", "if-match"})


class Request:
    """A request with what decides when it is served. `is_last`: its response ends the connection."""

    def __init__(self, scope: Scope, protocol: HTTPProtocol, *, is_last: bool = False) -> None:
        self.path, self.protocol = scope.path, protocol
        self.environ = build_environ(scope)
        # Granian shows only the names of headers whose values aren't ASCII.
        self.unreadable = ASCII_HEADERS.intersection(scope.headers.keys()).difference(dict(scope.headers.items()))
        self.client = client_address(self.environ)
        self.is_api = API_PATH.match(self.path) is not None
        # A page can take seconds.
        self.is_page = not (self.is_api or self.path in FAST_PATHS or self.path.startswith("/static/"))
        self.credential = digest_of_credential(self.environ, self.path, is_api=self.is_api)
        self.turn = Turn("", "")  # until the server knows who sends the request
        self.status = 0
        self.body = Body({})  # while nothing of it is counted
        # The server closes a connection with an unread body, and has to say so (`Connection: close`). Otherwise a proxy
        # sends the next request on it, perhaps of another client, and that request fails.
        self.has_unread_body = announces_body(self.environ)
        self.is_last = is_last
        self.loop = asyncio.get_running_loop()
        # Its result is a refusal, or None if a thread has responded.
        self.responded: asyncio.Future[Refusal | None] = self.loop.create_future()

    @property
    def connection(self) -> Headers:
        """`Connection: close` if the response ends the connection."""
        return [("connection", "close")] if self.has_unread_body or self.is_last else []


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
            key = name.upper().replace("-", "_")
            key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
            # HTTP/2 may split the Cookie header; all other repeated headers are joined by a comma.
            separator = "; " if key == "HTTP_COOKIE" else ","
            environ[key] = f"{environ[key]}{separator}{value}" if environ.get(key) else value
    # No cookie of ours has a backslash. Before 3.11.10 and 3.12.6, Python takes quadratic time for many in one quoted
    # value (CVE-2024-7592). Replaced and not removed, so that the name of another cookie doesn't become that of ours.
    if "HTTP_COOKIE" in environ:
        environ["HTTP_COOKIE"] = environ["HTTP_COOKIE"].replace("\\", "/")
    return environ


def to_latin1(text: str) -> str:
    """Return the text as WSGI wants it: each character is one byte of the UTF-8 encoding."""
    return text.encode().decode("latin-1")
