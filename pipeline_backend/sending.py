"""Sending one signed request, and what its answer means (decision 32).

The deadline is a true total over name, connection, TLS, headers and body: each wait gets what is left of it. A
connection is kept open for one endpoint's next delivery and never shared with another endpoint. Redirects, cookies,
compressed answers and proxies from the environment do not exist here.
"""

import contextlib
import select
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as NoAnswer
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache, cached_property
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from pipeline_backend.addresses import BlockedAddress, Target, allowed, parse_target
from pipeline_backend.answers import READ_AT_MOST, Answer, BadAnswer
from pipeline_backend.moments import now
from pipeline_backend.outbox import Result

GONE = 410
WAITS = {429, 502, 503, 504}
_resolvers = ThreadPoolExecutor(max_workers=8, thread_name_prefix="resolver")


@dataclass(frozen=True)
class Sent(Result):
    """A result with what staff want to see of it."""

    status_code: int | None = None
    response: str = ""
    duration_ms: int = 0
    request_head: str = ""


@dataclass
class Deadline:
    """A point on the monotonic clock."""

    at: float

    def left(self) -> float:
        """Seconds left; TimeoutError when there are none."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


class Wire:
    """A socket whose every wait ends at the deadline."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self.sock = sock
        self.deadline = deadline

    def sendall(self, data: bytes) -> None:
        """All of it."""
        self.sock.settimeout(self.deadline.left())
        self.sock.sendall(data)

    def read(self) -> bytes:
        """What has come; nothing once the other side has closed."""
        self.sock.settimeout(self.deadline.left())
        return self.sock.recv(READ_AT_MOST)

    def head(self) -> Answer:
        """An answer, read up to the end of its head."""
        answer = Answer()
        while not answer.has_head:
            data = self.read()
            if not data:
                raise BadAnswer if answer.size else ConnectionResetError
            answer.feed(data)
        return answer

    def answer(self) -> Answer:
        """An answer and the start of its body; a body that breaks off changes nothing."""
        answer = self.head()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while not answer.is_enough and (data := self.read()):
                answer.feed(data)
        return answer


class Line:
    """A connection to one endpoint, opened when needed and kept while it can be."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.sock: socket.socket | None = None

    @cached_property
    def target(self) -> Target:
        """Where it leads, or BlockedAddress."""
        return parse_target(self.url)

    def post(self, body: bytes, headers: dict[str, str]) -> Sent:
        """Send, and say how it went; never raises for anything a receiver does."""
        started = time.monotonic()
        head, told = "", {}
        try:
            head = request_head(self.target, len(body), headers)
            told = judge(self.exchange(head.encode("ascii") + body, Deadline(started + settings.DELIVERY_DEADLINE_SECONDS)))
        except Exception as error:
            self.hang_up()
            told = {"error": error_class(error)}
        return Sent(**told, duration_ms=round((time.monotonic() - started) * 1000), request_head=head)

    def exchange(self, request: bytes, deadline: Deadline) -> Answer:
        """On the open connection; on a new one if the receiver has closed it between two deliveries."""
        if self.sock and is_quiet(self.sock):
            with contextlib.suppress(ConnectionError):
                return self.ask(self.sock, request, deadline)
        self.hang_up()
        self.sock = dial(self.target, deadline)
        return self.ask(self.sock, request, deadline)

    def ask(self, sock: socket.socket, request: bytes, deadline: Deadline) -> Answer:
        """One request and its answer."""
        wire = Wire(sock, deadline)
        wire.sendall(request)
        answer = wire.answer()
        if not (answer.is_over and answer.keeps_alive):
            self.hang_up()
        return answer

    def hang_up(self) -> None:
        """Close the connection, if one is open."""
        if self.sock:
            with contextlib.suppress(OSError):
                self.sock.close()
        self.sock = None


def is_quiet(sock: socket.socket) -> bool:
    """True unless something came that nobody asked for: an end, or the rest of an answer."""
    poll = select.poll()  # select itself can't watch more than 1024 files
    poll.register(sock, select.POLLIN)
    return not poll.poll(0)


def request_head(target: Target, length: int, headers: dict[str, str]) -> str:
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


def dial(target: Target, deadline: Deadline) -> socket.socket:
    """A connection to one of the checked addresses (or by the operator's proxy), with TLS for https."""
    sock = through_proxy(target, deadline) if settings.WEBHOOKS_PROXY else connect(allowed(resolve(target, deadline)), target.port, deadline)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if not target.is_tls:
        return sock
    try:
        sock.settimeout(deadline.left())
        return tls().wrap_socket(sock, server_hostname=target.host)
    except BaseException:
        sock.close()
        raise


def through_proxy(target: Target, deadline: Deadline) -> socket.socket:
    """A tunnel by CONNECT: the proxy resolves the name and refuses what must not be reached."""
    proxy = urlsplit(settings.WEBHOOKS_PROXY)
    sock = socket.create_connection((proxy.hostname, proxy.port), timeout=deadline.left())
    with contextlib.ExitStack() as unless_open:
        unless_open.callback(sock.close)
        wire = Wire(sock, deadline)
        wire.sendall(f"CONNECT {target.host}:{target.port} HTTP/1.1\r\nHost: {target.host}:{target.port}\r\n\r\n".encode("ascii"))
        if wire.head().status != 200:
            raise BlockedAddress
        unless_open.pop_all()
    return sock


def resolve(target: Target, deadline: Deadline) -> list[str]:
    """Every address of the host; the resolver itself knows no deadline, so it is asked from another thread."""
    asked = _resolvers.submit(socket.getaddrinfo, target.host, target.port, type=socket.SOCK_STREAM)
    try:
        return list(dict.fromkeys(str(entry[4][0]) for entry in asked.result(deadline.left())))
    except NoAnswer:
        raise TimeoutError from None


def connect(addresses: list[str], port: int, deadline: Deadline) -> socket.socket:
    """The first that answers."""
    for address in addresses[:-1]:
        with contextlib.suppress(OSError):
            return socket.create_connection((address, port), timeout=deadline.left() / 2)
    return socket.create_connection((addresses[-1], port), timeout=deadline.left())


@cache
def tls() -> ssl.SSLContext:
    """Verified TLS, 1.2 or newer."""
    return ssl.create_default_context()


def judge(answer: Answer) -> dict[str, Any]:
    """2xx is success, 410 is final, everything else is worth another try."""
    code = answer.status
    seen = {"status_code": code, "response": answer.text}
    if 200 <= code < 300:
        return seen
    wait = wish(answer.retry_after.decode("latin-1")) if code in WAITS else None
    return {**seen, "error": "redirect" if 300 <= code < 400 else f"http_{code}", "retry_after": wait, "is_final": code == GONE}


def wish(header: str) -> float | None:
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
    (BadAnswer, "bad_response"),
    (UnicodeError, "dns_error"),
    (OSError, "connection_error"),
]


def error_class(error: BaseException) -> str:
    """One word for staff: what went wrong, without addresses."""
    return next((name for kind, name in ERROR_CLASSES if isinstance(error, kind)), "bad_response")
