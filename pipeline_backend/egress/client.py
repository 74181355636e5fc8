"""Sending one signed request, and what its answer means (decision 32).

The deadline is a true total over name, connection, TLS, headers and body. A connection is kept open for one endpoint's
next delivery and never shared with another endpoint. Redirects, cookies,
compressed answers and proxies from the environment do not exist here.
"""

import asyncio
import contextlib
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache, cached_property, partial
from typing import Any, cast
from urllib.parse import urlsplit

from django.conf import settings

from pipeline_backend.db.timestamps import now
from pipeline_backend.egress.response import InvalidResponse, ResponseReader
from pipeline_backend.egress.ssrf import BlockedAddress, ParsedUrl, parse_url, require_allowed
from pipeline_backend.outbox.retries import Result

GONE = 410
RETRY_AFTER_STATUSES = {429, 502, 503, 504}
READ_AT_ONCE = 16 * 1024
_resolvers = ThreadPoolExecutor(max_workers=8, thread_name_prefix="resolver")


@dataclass(frozen=True)
class SendResult(Result):
    """A result with what staff want to see of it."""

    status_code: int | None = None
    response: str = ""
    duration_ms: int = 0
    request_head: str = ""


class HttpConnection(asyncio.BufferedProtocol):
    """An open connection: one request at a time, and its answer."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self.buffer = memoryview(bytearray(READ_AT_ONCE))  # of a plain bytearray asyncio's TLS would fill copies
        self.is_open = False
        self.answer = ResponseReader()
        self.heard: asyncio.Future[ResponseReader] | None = None
        self.only_head = False

    async def ask(self, request: bytes, *, only_head: bool = False) -> ResponseReader:
        """Send a request; its answer with the start of the body, or what broke it off before the end of its head."""
        self.answer, self.only_head = ResponseReader(), only_head
        self.heard = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await self.heard

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self.transport, self.is_open = cast(asyncio.Transport, transport), True

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go."""
        return self.buffer

    def buffer_updated(self, size: int) -> None:
        """So many have come; with what nobody asked for (the rest of an answer, a second one) the connection is at its end."""
        if self.heard is None or self.heard.done():
            self.hang_up()
            return
        try:
            self.answer.feed(bytes(self.buffer[:size]))
        except InvalidResponse as error:
            self.heard.set_exception(error)
        else:
            if self.answer.has_head and (self.only_head or self.answer.is_enough):
                self.heard.set_result(self.answer)

    def connection_lost(self, error: Exception | None) -> None:
        """It has ended; for a body that breaks off that changes nothing."""
        self.is_open = False
        if self.heard is None or self.heard.done():
            return
        if self.answer.has_head:
            self.heard.set_result(self.answer)
        else:
            self.heard.set_exception(error or (InvalidResponse() if self.answer.size else ConnectionResetError()))

    def hang_up(self) -> None:
        """Close it, without a word."""
        self.is_open = False
        self.transport.abort()


class EndpointClient:
    """A connection to one endpoint, opened when needed and kept while it can be."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.wire: HttpConnection | None = None

    @cached_property
    def target(self) -> ParsedUrl:
        """Where it leads, or BlockedAddress."""
        return parse_url(self.url)

    async def post(self, body: bytes, headers: dict[str, str]) -> SendResult:
        """Send, and say how it went; never raises for anything a receiver does."""
        started = time.monotonic()
        head, told = "", {}
        try:
            head = request_head(self.target, len(body), headers)
            async with asyncio.timeout(settings.DELIVERY_DEADLINE_SECONDS):
                told = classify(await self.exchange(head.encode("ascii") + body))
        except Exception as error:
            self.hang_up()
            told = {"error": error_class(error)}
        return SendResult(**told, duration_ms=round((time.monotonic() - started) * 1000), request_head=head)

    async def exchange(self, request: bytes) -> ResponseReader:
        """On the open connection; on a new one if the receiver has closed it between two deliveries."""
        if self.wire and self.wire.is_open:
            with contextlib.suppress(ConnectionError):
                return await self.ask(self.wire, request)
        self.hang_up()
        self.wire = await open_connection(self.target)
        return await self.ask(self.wire, request)

    async def ask(self, wire: HttpConnection, request: bytes) -> ResponseReader:
        """One request and its answer."""
        answer = await wire.ask(request)
        if not (answer.is_over and answer.keeps_alive):
            self.hang_up()
        return answer

    def hang_up(self) -> None:
        """Close the connection, if one is open."""
        if self.wire:
            self.wire.hang_up()
        self.wire = None


def request_head(target: ParsedUrl, length: int, headers: dict[str, str]) -> str:
    """The request up to its body. Nothing in it comes from outside but the checked URL."""
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
    """A connection to the first of the checked addresses that answers (or by the operator's proxy), with TLS for https."""
    if settings.WEBHOOKS_PROXY:
        return await connect_via_proxy(target)
    *others, last = require_allowed(await resolve(target))
    for number, address in enumerate(others, 1):
        with contextlib.suppress(OSError):
            async with asyncio.timeout(settings.DELIVERY_DEADLINE_SECONDS / 2**number):
                return await connect(address, target)
    return await connect(last, target)


async def connect(address: str, target: ParsedUrl) -> HttpConnection:
    """To this address, as the host that the target names."""
    security: dict[str, Any] = {"ssl": tls(), "server_hostname": target.host} if target.is_tls else {}
    _, wire = await asyncio.get_running_loop().create_connection(HttpConnection, address, target.port, **security)
    return wire


async def connect_via_proxy(target: ParsedUrl) -> HttpConnection:
    """A tunnel by CONNECT: the proxy resolves the name and refuses what must not be reached."""
    loop, proxy = asyncio.get_running_loop(), urlsplit(settings.WEBHOOKS_PROXY)
    _, wire = await loop.create_connection(HttpConnection, str(proxy.hostname), proxy.port or 80)
    with contextlib.ExitStack() as unless_open:
        unless_open.callback(wire.hang_up)
        answer = await wire.ask(
            f"CONNECT {target.host}:{target.port} HTTP/1.1\r\nHost: {target.host}:{target.port}\r\n\r\n".encode(
                "ascii"
            ),
            only_head=True,
        )
        if answer.status != 200:
            raise BlockedAddress
        if target.is_tls:
            wire.transport = cast(
                asyncio.Transport, await loop.start_tls(wire.transport, wire, tls(), server_hostname=target.host)
            )
        unless_open.pop_all()
    return wire


async def resolve(target: ParsedUrl) -> list[str]:
    """Every address of the host; the resolver knows no deadline, so it is asked from another thread."""
    ask = partial(socket.getaddrinfo, target.host, target.port, type=socket.SOCK_STREAM)
    found = await asyncio.get_running_loop().run_in_executor(_resolvers, ask)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


@cache
def tls() -> ssl.SSLContext:
    """Verified TLS, 1.2 or newer."""
    return ssl.create_default_context()


def classify(answer: ResponseReader) -> dict[str, Any]:
    """2xx is success, 410 is final, everything else is worth another try."""
    code = answer.status
    seen = {"status_code": code, "response": answer.text}
    if 200 <= code < 300:
        return seen
    wait = parse_retry_after(answer.retry_after.decode("latin-1")) if code in RETRY_AFTER_STATUSES else None
    return {
        **seen,
        "error": "redirect" if 300 <= code < 400 else f"http_{code}",
        "retry_after": wait,
        "is_final": code == GONE,
    }


def parse_retry_after(header: str) -> float | None:
    """`Retry-After` in seconds: a number or a date; nothing for anything else."""
    if header.isascii() and header.isdecimal() and len(header) < 10:
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header) - now()).total_seconds())
    except (TypeError, ValueError):
        return None


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
    """One word for staff: what went wrong, without addresses."""
    return next((name for kind, name in ERROR_CLASSES if isinstance(error, kind)), "bad_response")
