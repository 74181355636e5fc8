"""Sends one signed request, and says what its response means (docs/interface.md, W14).

The deadline is a total over name resolution, connecting, TLS, head and body. A connection is kept open for the same
endpoint's next delivery and never shared with another endpoint. Redirects, cookies, compressed responses, and proxies
from the environment are not supported, on purpose.
"""

import asyncio
import contextlib
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from functools import cache, cached_property, partial
from typing import cast
from urllib.parse import urlsplit

from django.conf import settings

from pipeline_backend.db.timestamps import now
from pipeline_backend.egress.response import InvalidResponse, ResponseReader
from pipeline_backend.egress.ssrf import BlockedAddress, ParsedUrl, parse_url, require_allowed
from pipeline_backend.outbox import Result

GONE = 410
RETRY_AFTER_STATUSES = {429, 502, 503, 504}
READ_BUFFER_SIZE = 16 * 1024
_resolvers = ThreadPoolExecutor(max_workers=8, thread_name_prefix="resolver")


@dataclass(frozen=True)
class SendResult(Result):
    """The result of a request, with the details that staff see."""

    status_code: int | None = None
    response: str = ""
    duration_ms: int = 0
    request_head: str = ""


class HttpConnection(asyncio.BufferedProtocol):
    """An open connection, with one request at a time and its response."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        # A memoryview, because from a plain bytearray asyncio's TLS layer would fill copies.
        self.buffer = memoryview(bytearray(READ_BUFFER_SIZE))
        self.is_open = False
        self.response = ResponseReader()
        self.response_future: asyncio.Future[ResponseReader] | None = None
        self.head_only = False

    async def request(self, data: bytes, *, head_only: bool = False) -> ResponseReader:
        """Send a request and return its response with the start of the body.

        Raises InvalidResponse or ConnectionError if the connection ends before the head is complete.
        """
        self.response, self.head_only = ResponseReader(), head_only
        self.response_future = asyncio.get_running_loop().create_future()
        self.transport.write(data)
        return await self.response_future

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.is_open = cast(asyncio.Transport, transport), True

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for the next bytes."""
        return self.buffer

    def buffer_updated(self, size: int) -> None:
        """Parse the bytes received, and finish the request once there is enough of the response."""
        # Bytes beyond what was asked for (the rest of a long body, a second response) must not be mistaken for the next
        # response, so the connection is not used again.
        if self.response_future is None or self.response_future.done():
            self.close()
            return
        try:
            self.response.feed(bytes(self.buffer[:size]))
        except InvalidResponse as error:
            self.response_future.set_exception(error)
        else:
            if self.response.has_head and (self.head_only or self.response.has_enough):
                self.response_future.set_result(self.response)

    def connection_lost(self, error: Exception | None) -> None:
        """Finish the request: with its response if the head is there, even if the body broke off."""
        self.is_open = False
        if self.response_future is None or self.response_future.done():
            return
        if self.response.has_head:
            self.response_future.set_result(self.response)
        else:
            default = InvalidResponse() if self.response.size else ConnectionResetError()
            self.response_future.set_exception(error or default)

    def close(self) -> None:
        """Close the connection at once, without TLS's closing handshake."""
        self.is_open = False
        self.transport.abort()


class EndpointClient:
    """Sends to one endpoint, over a connection that is opened when needed and kept while possible."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connection: HttpConnection | None = None

    @cached_property
    def target(self) -> ParsedUrl:
        """Return the parsed URL. Raises BlockedAddress."""
        return parse_url(self.url)

    async def post(self, body: bytes, headers: dict[str, str]) -> SendResult:
        """Send a request and return how it went. Never raises for anything that a receiver does."""
        started = time.monotonic()
        head = ""
        try:
            head = request_head(self.target, len(body), headers)
            async with asyncio.timeout(settings.DELIVERY_DEADLINE_SECONDS):
                result = classify(await self._send(head.encode("ascii") + body))
        except Exception as error:
            self.close()
            result = SendResult(error=error_class(error))
        return replace(result, duration_ms=round((time.monotonic() - started) * 1000), request_head=head)

    async def _send(self, request: bytes) -> ResponseReader:
        """Send over the open connection, or over a new one if the receiver has closed it since the last delivery."""
        if self.connection and self.connection.is_open:
            with contextlib.suppress(ConnectionError):
                return await self._request(self.connection, request)
        self.close()
        self.connection = await open_connection(self.target)
        return await self._request(self.connection, request)

    async def _request(self, connection: HttpConnection, request: bytes) -> ResponseReader:
        """Send one request, and close the connection if the response does not let us keep it."""
        response = await connection.request(request)
        if not (response.is_complete and response.keeps_alive):
            self.close()
        return response

    def close(self) -> None:
        """Close the connection if there is one."""
        if self.connection:
            self.connection.close()
        self.connection = None


def request_head(target: ParsedUrl, length: int, headers: dict[str, str]) -> str:
    """Return the request up to its body. Only the checked URL in it comes from outside."""
    common = {
        "Host": target.host_header,
        "User-Agent": "PipelineBackend-Webhooks/1",
        "Content-Type": "application/json",
        "Content-Length": str(length),
        "Accept-Encoding": "identity",
    }
    lines = [f"POST {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in (common | headers).items())]
    return "\r\n".join(lines) + "\r\n\r\n"


async def open_connection(target: ParsedUrl) -> HttpConnection:
    """Connect to the target, with TLS for https: to the first of its addresses that answers, or via the proxy.

    Raises BlockedAddress if any of the addresses must not be reached.
    """
    if settings.WEBHOOKS_PROXY:
        return await connect_via_proxy(target)
    # We connect to the addresses that were checked and never resolve again: no DNS rebinding in between.
    *others, last = require_allowed(await resolve(target))
    for number, address in enumerate(others, 1):
        with contextlib.suppress(OSError):
            async with asyncio.timeout(settings.DELIVERY_DEADLINE_SECONDS / 2**number):
                return await connect(address, target)
    return await connect(last, target)


async def connect(address: str, target: ParsedUrl) -> HttpConnection:
    """Connect to this address; for TLS under the name in the URL."""
    _, connection = await asyncio.get_running_loop().create_connection(
        HttpConnection,
        address,
        target.port,
        ssl=tls() if target.is_tls else None,
        server_hostname=target.host if target.is_tls else None,
    )
    return connection


async def connect_via_proxy(target: ParsedUrl) -> HttpConnection:
    """Open a CONNECT tunnel. The proxy resolves the name and refuses what must not be reached.

    Raises BlockedAddress if the proxy refuses.
    """
    loop, proxy = asyncio.get_running_loop(), urlsplit(settings.WEBHOOKS_PROXY)
    _, connection = await loop.create_connection(HttpConnection, str(proxy.hostname), proxy.port or 80)
    with contextlib.ExitStack() as close_on_error:
        close_on_error.callback(connection.close)
        host = f"{target.host}:{target.port}"
        request = f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n"
        response = await connection.request(request.encode("ascii"), head_only=True)
        if response.status != 200:
            raise BlockedAddress
        if target.is_tls:
            transport = await loop.start_tls(connection.transport, connection, tls(), server_hostname=target.host)
            connection.transport = cast(asyncio.Transport, transport)
        close_on_error.pop_all()
    return connection


async def resolve(target: ParsedUrl) -> list[str]:
    """Return every address of the host, without duplicates."""
    # getaddrinfo blocks and has no timeout, so it runs in a thread that is abandoned when the deadline is over.
    lookup = partial(socket.getaddrinfo, target.host, target.port, type=socket.SOCK_STREAM)
    entries = await asyncio.get_running_loop().run_in_executor(_resolvers, lookup)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


@cache
def tls() -> ssl.SSLContext:
    """Return a context that verifies certificates and requires TLS 1.2 or newer."""
    return ssl.create_default_context()


def classify(response: ResponseReader) -> SendResult:
    """Return the result that a response means: 2xx is success, 410 is final, everything else can be retried."""
    status, text = response.status, response.text
    if 200 <= status < 300:
        return SendResult(status_code=status, response=text)
    retry_after = None
    if status in RETRY_AFTER_STATUSES:
        retry_after = parse_retry_after(response.retry_after.decode("latin-1"))
    return SendResult(
        error="redirect" if 300 <= status < 400 else f"http_{status}",
        retry_after=retry_after,
        is_final=status == GONE,
        status_code=status,
        response=text,
    )


def parse_retry_after(header: str) -> float | None:
    """Return `Retry-After` in seconds, from a number or a date; None for anything else."""
    if header.isascii() and header.isdecimal() and len(header) < 10:
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header) - now()).total_seconds())
    except (TypeError, ValueError):
        return None


# The first that matches counts, so subclasses come before their base classes.
ERROR_CLASSES: list[tuple[type[BaseException], str]] = [
    (BlockedAddress, "blocked_address"),
    (TimeoutError, "timeout"),
    (ssl.SSLError, "tls_error"),
    (socket.gaierror, "dns_error"),
    (ConnectionRefusedError, "connection_refused"),
    (ConnectionError, "connection_reset"),
    (InvalidResponse, "bad_response"),
    (UnicodeError, "dns_error"),
    (OSError, "connection_error"),
]


def error_class(error: BaseException) -> str:
    """Return one word that says what went wrong, without addresses."""
    return next((name for kind, name in ERROR_CLASSES if isinstance(error, kind)), "bad_response")
