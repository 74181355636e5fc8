"""HTTP that no client library would send: raw bytes over a socket, and the response to them."""

import contextlib
import http.client
import itertools
import socket
from collections.abc import Iterable, Iterator
from typing import NamedTuple

TIMEOUT = 60
GIBIBYTE = 2**30
# SO_LINGER with a timeout of 0: closing the socket sends a reset (RST) instead of a regular end (FIN).
RESET_ON_CLOSE = b"\x01\x00\x00\x00\x00\x00\x00\x00"


class RawResponse(NamedTuple):
    """The first response on a connection. The status code is 0 if the server closed it without a response.

    `is_last` is False if more bytes followed a response that should have ended the connection.
    """

    status_code: int
    content_type: str = ""
    body: bytes = b""
    is_last: bool = True


class RawHttpClient:
    """Sends bytes to a local port. Requests from `build_request` have this API key and `Host: localhost`."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self.key = port, key

    def build_request(
        self,
        operation: str,
        *headers: bytes | str,
        body: bytes | None = None,
        version: str = "1.1",
        key: str | None = None,
    ) -> bytes:
        """Return a request's bytes; with a body, they include its length and its media type."""
        lines: list[bytes | str] = [
            f"{operation} HTTP/{version}",
            f"x-api-key: {self.key if key is None else key}",
            "Host: localhost",
            "Connection: close",
            *headers,
        ]
        if body is not None:
            lines += [f"Content-Length: {len(body)}", "Content-Type: application/json"]
        head = b"\r\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
        return head + b"\r\n\r\n" + (body or b"")

    def connect(self) -> socket.socket:
        """Open a connection to the server."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT)

    def send(self, data: bytes | Iterable[bytes]) -> RawResponse:
        """Send the data in one or several parts, and return the response."""
        with self.connect() as connection:
            # A server that refuses a request early may close before it has read everything.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                for part in [data] if isinstance(data, bytes) else data:
                    connection.sendall(part)
            return read_response(connection, is_head=isinstance(data, bytes) and data.startswith(b"HEAD "))

    def send_and_reset(self, data: bytes) -> None:
        """Send the data and reset the connection at once, without reading the response."""
        with self.connect() as connection:
            connection.sendall(data)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)


def read_response(connection: socket.socket, *, is_head: bool = False) -> RawResponse:
    """Read one response, and find out whether anything follows it."""
    response = http.client.HTTPResponse(connection, method="HEAD" if is_head else "GET")
    try:
        response.begin()
        body = response.read()
        content_type = response.headers.get("Content-Type", "")
        is_last = connection.recv(1) == b"" if response.will_close else True
        return RawResponse(response.status, content_type, body, is_last)
    except (http.client.HTTPException, ConnectionResetError):
        return RawResponse(response.status if isinstance(response.status, int) else 0)


def chunk(data: bytes) -> bytes:
    """Return one chunk of a chunked body; an empty one ends the body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def chunked_body(*parts: bytes) -> bytes:
    """Return a complete chunked body."""
    return b"".join(map(chunk, [*parts, b""]))


def unending_request(head: bytes, part: bytes) -> Iterator[bytes]:
    """Yield a request whose body doesn't end for as long as the server reads it; it stops at a gibibyte."""
    return itertools.chain([head], itertools.repeat(part, GIBIBYTE // len(part)))
