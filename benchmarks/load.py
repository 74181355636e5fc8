"""The client: a few connections that are kept, each asking again as soon as it is answered.

One process, one selector, no parsing beyond status and length: it must cost little beside the servers, on the same cores.
"""

import selectors
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Ask = Callable[[], bytes]
SUCCESS = (b"2",)


class Refused(AssertionError):
    """An answer that was not expected, or an end of the connection."""


@dataclass
class Line:
    """One connection, and what has come of the current answer."""

    port: int
    expected: tuple[bytes, ...] = SUCCESS  # how the status may begin
    began: float = 0.0
    got: bytes = b""
    whole: int = 0
    wire: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.wire = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        self.wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> None:
        """Send a request."""
        self.began, self.got, self.whole = time.perf_counter(), b"", 0
        self.wire.sendall(request)

    def hear(self) -> bool:
        """Read on; true if the answer is whole."""
        chunk = self.wire.recv(262_144)
        if not chunk:
            raise Refused(f"the connection ended after {self.got[:200]!r}")
        self.got = self.got + chunk if self.got else chunk
        if not self.whole:
            head = self.got.find(b"\r\n\r\n")
            if head < 0:
                return False
            if not self.got.startswith(self.expected, 9):
                raise Refused(self.got.decode(errors="replace"))
            self.whole = head + 4 + length_in(self.got[:head])
        return len(self.got) >= self.whole


def length_in(head: bytes) -> int:
    """What the head says of the body's length."""
    return int(head.lower().split(b"content-length:")[1].split(b"\r")[0])


@dataclass
class Pace:
    """What a drive has found: requests a second, and each answer's seconds."""

    a_second: float
    seconds: list[float]


def drive(
    port: int,
    ask: Ask,
    *,
    connections: int,
    seconds: float = 0.0,
    count: int = 0,
    expected: tuple[bytes, ...] = SUCCESS,
) -> Pace:
    """Ask for so long, or so often, on so many connections."""
    lines = [Line(port, expected) for _ in range(connections)]
    taken: list[float] = []
    began = time.perf_counter()
    with selectors.DefaultSelector() as ready:
        for line in lines:
            ready.register(line.wire, selectors.EVENT_READ, line)
            line.ask(ask())
        open_lines, asked = connections, connections
        while open_lines:
            for key, _ in ready.select(60):
                line = key.data
                if not line.hear():
                    continue
                now = time.perf_counter()
                taken.append(now - line.began)
                if (count and asked >= count) or (not count and now - began >= seconds):
                    open_lines -= 1
                else:
                    asked += 1
                    line.ask(ask())
    for line in lines:
        line.wire.close()
    return Pace(len(taken) / (time.perf_counter() - began), taken)


def get(path: str, key: str) -> bytes:
    """A read's bytes."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: {key}\r\nAccept: application/json\r\n\r\n".encode()


def post(path: str, key: str, body: bytes) -> bytes:
    """A write's bytes."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: {key}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def always(request: bytes) -> Ask:
    """The same again and again."""
    return lambda: request


def each(requests: list[bytes]) -> Ask:
    """One after the other, and from the beginning again."""
    state: dict[str, Any] = {"at": -1}

    def ask() -> bytes:
        state["at"] = (state["at"] + 1) % len(requests)
        return requests[state["at"]]

    return ask
