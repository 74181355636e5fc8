"""An HTTP client for load: each of its persistent connections sends again as soon as a response is complete.

It is one process with one selector and parses nothing but the status and the length, because it runs on the same
cores as the servers and must take little of their CPU time.
"""

import selectors
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

SUCCESS = (b"2",)
STATUS_POSITION = len("HTTP/1.1 ")


class UnexpectedResponse(AssertionError):
    """The server sent another status than expected, or closed the connection."""


@dataclass
class Connection:
    """One connection to the server, and the response that it is receiving."""

    port: int
    expected: tuple[bytes, ...] = SUCCESS  # accepted beginnings of the status
    sent_at: float = 0.0
    received: bytes = b""
    response_length: int = 0  # head and body; 0 while the head is incomplete
    sock: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self.sock = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, request: bytes) -> None:
        """Send a request and start its clock."""
        self.sent_at, self.received, self.response_length = time.perf_counter(), b"", 0
        self.sock.sendall(request)

    def receive(self) -> bool:
        """Read what has arrived and return whether the response is complete. Raises UnexpectedResponse."""
        chunk = self.sock.recv(262_144)
        if not chunk:
            raise UnexpectedResponse(f"The connection was closed after {self.received[:200]!r}")
        self.received = self.received + chunk if self.received else chunk
        if not self.response_length:
            head_end = self.received.find(b"\r\n\r\n")
            if head_end < 0:
                return False
            if not self.received.startswith(self.expected, STATUS_POSITION):
                raise UnexpectedResponse(self.received.decode(errors="replace"))
            self.response_length = head_end + 4 + content_length(self.received[:head_end])
        return len(self.received) >= self.response_length


def content_length(head: bytes) -> int:
    """Return the body's length according to the headers."""
    return int(head.lower().split(b"content-length:")[1].split(b"\r")[0])


@dataclass
class LoadResult:
    """The throughput of a load, and the response time of each request."""

    requests_per_second: float
    response_seconds: list[float]


def run_load(
    port: int,
    requests: Iterator[bytes],
    *,
    connections: int,
    seconds: float = 0.0,
    count: int = 0,
    expected: tuple[bytes, ...] = SUCCESS,
) -> LoadResult:
    """Send requests on this many connections, either `count` of them or for some `seconds`."""
    pool = [Connection(port, expected) for _ in range(connections)]
    response_seconds: list[float] = []
    started_at = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        for connection in pool:
            selector.register(connection.sock, selectors.EVENT_READ, connection)
            connection.send(next(requests))
        active = sent = connections
        while active:
            for key, _ in selector.select(60):
                connection = key.data
                if not connection.receive():
                    continue
                now = time.perf_counter()
                response_seconds.append(now - connection.sent_at)
                if sent >= count if count else now - started_at >= seconds:
                    active -= 1
                else:
                    sent += 1
                    connection.send(next(requests))
    for connection in pool:
        connection.sock.close()
    return LoadResult(len(response_seconds) / (time.perf_counter() - started_at), response_seconds)


def get_request(path: str, api_key: str) -> bytes:
    """Return the bytes of a GET request."""
    return encode_head(f"GET {path}", api_key, "Accept: application/json")


def page_request(path: str, cookie: str) -> bytes:
    """Return the bytes of a GET request of a signed-in browser, with a header such as "sessionid=..."."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode()


def post_request(path: str, api_key: str, body: bytes) -> bytes:
    """Return the bytes of a POST request with a JSON body."""
    headers = ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return encode_head(f"POST {path}", api_key, *headers) + body


def encode_head(method_and_path: str, api_key: str, *headers: str) -> bytes:
    """Return a request's head with its blank line."""
    lines = [f"{method_and_path} HTTP/1.1", "Host: 127.0.0.1", f"x-api-key: {api_key}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
