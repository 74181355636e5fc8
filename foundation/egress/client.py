"""Sends one signed request by aiohttp, and says what its response means (docs/interface.md, W14).

The deadline is a total over name resolution, connecting, TLS, head and body.
"""

import asyncio
import socket
import ssl
import time
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from functools import partial
from types import SimpleNamespace
from typing import Any, ClassVar, Self
from weakref import WeakValueDictionary

import aiohttp
from aiohttp import AddrInfoType
from aiohttp.abc import ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_parser import RawResponseMessage
from aiohttp.resolver import ThreadedResolver
from aiohttp.streams import StreamReader
from django.conf import settings
from yarl import URL

from foundation.db.timestamps import now
from foundation.egress.ssrf import BlockedAddress, parse_url, require_allowed
from foundation.outbox import Result

GONE = 410
RETRY_AFTER_STATUSES = {429, 502, 503, 504}
MAX_HEADERS = 100
MAX_LINE_SIZE = 8 * 1024
MAX_READ_SIZE = 64 * 1024
BODY_PREFIX = 4 * 1024
READ_BUFFER_SIZE = 8 * 1024
LOOKUPS_AT_ONCE = 4  # of one owner
TLS = ssl.create_default_context()


class OwnersResolver(ThreadedResolver):
    """DNS resolver with an owner's share of the threads: getaddrinfo has no time-out, and others wait for a thread."""

    shares: ClassVar[WeakValueDictionary[object, asyncio.Semaphore]] = WeakValueDictionary()

    def __init__(self, owner: object) -> None:
        super().__init__()
        loop = asyncio.get_running_loop()
        self.share = self.shares.setdefault((loop, owner), asyncio.Semaphore(LOOKUPS_AT_ONCE))

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        await self.share.acquire()
        lookup = asyncio.ensure_future(super().resolve(host, port, family))
        lookup.add_done_callback(self.end)
        # The deadline must not cancel it: its thread is in use until the system answers.
        return await asyncio.shield(lookup)

    def end(self, lookup: "asyncio.Future[list[ResolveResult]]") -> None:
        self.share.release()
        if not lookup.cancelled():
            lookup.exception()  # or asyncio logs it if no one waits any more


class CheckedResolver(OwnersResolver):
    """Refuses a host if any of its addresses is blocked."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        results = await super().resolve(host, port, family)
        require_allowed(*(result["host"] for result in results))
        return results


def open_socket(address: AddrInfoType) -> socket.socket:
    """Return a socket for the address that is about to be connected to. Raises BlockedAddress."""
    family, kind, protocol, _name, (host, *_) = address
    # The resolver doesn't see addresses that stand in the URL. With a proxy, this is the proxy's own address.
    if not settings.WEBHOOKS_PROXY:
        require_allowed(str(host))
    new_socket = socket.socket(family, kind, protocol)
    # All that the receive buffer holds is parsed at once.
    new_socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, READ_BUFFER_SIZE)
    return new_socket


class Protocol(ResponseHandler):
    """aiohttp's side of a connection, which takes one response for each request, however malformed its body is."""

    is_waiting = False

    def set_response_params(self, **parameters: Any) -> None:
        """Expect a response. aiohttp calls this before each request."""
        self.is_waiting = True
        super().set_response_params(**parameters)

    def data_received(self, data: bytes) -> None:
        """Parse the head first, so that the status counts whatever follows it."""
        head, end, rest = data.partition(b"\r\n\r\n")
        super().data_received(head + end)
        if rest:
            super().data_received(rest)

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Take a response, or close the connection if no request is waiting for it."""
        if not self.is_waiting:
            self.close()
            return
        self.is_waiting = data[0].code < 200
        super().feed_data(data, size)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        """End a malformed body, too, which aiohttp would leave waiting for more."""
        super().set_exception(exc, *cause)
        if self._payload is not None:
            self._payload.set_exception(aiohttp.ClientPayloadError())


@dataclass
class EndpointClient:
    """Sends to one endpoint, up to `connections` requests at once, each over a connection of its own.

    An async context manager: connections are opened when needed, kept while possible, and closed at the end.
    """

    url: str
    connections: int = 1
    owner: object = None  # whose lookups take turns
    session: aiohttp.ClientSession = field(init=False)

    async def __aenter__(self) -> Self:
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(note_reuse)
        connector = aiohttp.TCPConnector(
            # A proxy resolves the name itself and refuses what must not be reached.
            resolver=(OwnersResolver if settings.WEBHOOKS_PROXY else CheckedResolver)(self.owner),
            socket_factory=open_socket,
            limit=self.connections,
            ssl=TLS,
        )
        factory: Any = partial(Protocol, loop=asyncio.get_running_loop())
        connector._factory = factory
        self.session = aiohttp.ClientSession(
            connector=connector,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            proxy=settings.WEBHOOKS_PROXY or None,
            skip_auto_headers=["Accept"],
            timeout=aiohttp.ClientTimeout(),  # `post` has one deadline for everything
            read_bufsize=READ_BUFFER_SIZE,
            max_line_size=MAX_LINE_SIZE,
            max_field_size=MAX_LINE_SIZE,
            max_headers=MAX_HEADERS,
            trace_configs=[trace],
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()

    async def post(self, body: bytes, headers: dict[str, str]) -> Result:
        """Send a request and return how it went. Never raises for anything that a receiver does."""
        started = time.monotonic()
        head = ""
        try:
            url = parse_url(self.url)
            all_headers = {
                "Host": str(url.host_port_subcomponent),
                "User-Agent": "PipelineBackend-Webhooks/1",
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
                "Accept-Encoding": "identity",
                **headers,
            }
            lines = [f"POST {url.raw_path_qs} HTTP/1.1", *(f"{name}: {value}" for name, value in all_headers.items())]
            head = "\r\n".join(lines) + "\r\n\r\n"
            async with asyncio.timeout(settings.DELIVERY_DEADLINE_SECONDS):
                result = await self._send(url, body, all_headers)
        except Exception as error:
            result = Result(error=error_class(error))
        return replace(result, duration_ms=round((time.monotonic() - started) * 1000), request_head=head)

    async def _send(self, url: URL, body: bytes, headers: dict[str, str]) -> Result:
        """Send; send again if the receiver had closed a connection that was kept open."""
        while True:
            request = SimpleNamespace(is_reused=False)
            try:
                async with self.session.post(
                    url, data=body, headers=headers, allow_redirects=False, trace_request_ctx=request
                ) as response:
                    return classify(response, await read_prefix(response))
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                if not request.is_reused or error_class(error) != "connection_reset":
                    raise


async def note_reuse(_session: aiohttp.ClientSession, context: SimpleNamespace, _: object) -> None:
    context.trace_request_ctx.is_reused = True


async def read_prefix(response: aiohttp.ClientResponse) -> bytes:
    """Return the start of the body. Reads no more than 64 KiB; the connection is closed if there is more."""
    prefix, size = b"", 0
    try:
        async for data in response.content.iter_any():
            prefix += data[: BODY_PREFIX - len(prefix)]
            size += len(data)
            if size >= MAX_READ_SIZE:
                break
    except aiohttp.ClientPayloadError:
        # The body broke off: the status alone decides whether it was a success.
        pass
    return prefix


def classify(response: aiohttp.ClientResponse, body: bytes) -> Result:
    status = response.status
    # PostgreSQL can't store the character NUL.
    text = body.decode("utf-8", "backslashreplace").replace("\x00", "\\x00")
    has_retry_after = status in RETRY_AFTER_STATUSES
    error = "redirect" if 300 <= status < 400 else f"http_{status}"
    return Result(
        error="" if 200 <= status < 300 else error,
        retry_after=parse_retry_after(response.headers.get("Retry-After", "")) if has_retry_after else None,
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
    (aiohttp.ClientHttpProxyError, "blocked_address"),
    (aiohttp.InvalidURL, "blocked_address"),
    (TimeoutError, "timeout"),
    (ssl.SSLError, "tls_error"),
    (socket.gaierror, "dns_error"),
    (UnicodeError, "dns_error"),
    (ConnectionRefusedError, "connection_refused"),
    (ConnectionError, "connection_reset"),
    (aiohttp.ServerDisconnectedError, "connection_reset"),
    (OSError, "connection_error"),
]


def error_class(error: BaseException) -> str:
    """Return one word that says what went wrong, without addresses."""
    # aiohttp raises its own errors from those of the operating system, which say more.
    for reason in (error.__cause__, error):
        for kind, name in ERROR_CLASSES:
            if isinstance(reason, kind):
                return name
    return "bad_response"
