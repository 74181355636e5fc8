"""HTTP as nobody's library would write it: bytes over a socket, and what came back."""

import contextlib
import http.client
import itertools
import socket
from collections.abc import Iterable, Iterator
from typing import NamedTuple

PATIENCE = 20


class Reply(NamedTuple):
    """The first answer on the connection; code 0 if it was closed without one."""

    code: int
    kind: str = ""
    body: bytes = b""
    is_last: bool = True


class Wire:
    """Speaks to one port; `host` and `key` stand in every request made by `request`."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self.key = port, key

    def request(
        self, call: str, *headers: bytes | str, body: bytes | None = None, version: str = "1.1", key: str | None = None
    ) -> bytes:
        """A request's bytes, with a length if there is a body."""
        given = [f"x-api-key: {self.key if key is None else key}", "Host: localhost", "Connection: close", *headers]
        lines = [
            f"{call} HTTP/{version}",
            *given,
            *([f"Content-Length: {len(body)}", "Content-Type: application/json"] if body is not None else []),
        ]
        return (
            b"\r\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
            + b"\r\n\r\n"
            + (body or b"")
        )

    def say(self, data: bytes | Iterable[bytes]) -> Reply:
        """Send it, as far as the server listens, and take the answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as line:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                for part in [data] if isinstance(data, bytes) else data:
                    line.sendall(part)
            return take(line, is_head=isinstance(data, bytes) and data.startswith(b"HEAD "))

    def hang_up_after(self, data: bytes) -> None:
        """Send it, and be gone."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as line:
            line.sendall(data)
            line.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00"
            )  # a reset, not a goodbye


def take(line: socket.socket, *, is_head: bool) -> Reply:
    """One answer, and whether another one followed."""
    answer = http.client.HTTPResponse(line, method="HEAD" if is_head else "GET")
    try:
        answer.begin()
        body = answer.read()
        kind = answer.headers.get("Content-Type", "")
        return Reply(answer.status, kind, body, is_last=line.recv(1) == b"" if answer.will_close else True)
    except (http.client.HTTPException, ConnectionResetError):
        return Reply(answer.status if isinstance(answer.status, int) else 0)


def chunk(data: bytes) -> bytes:
    """One part of a chunked body; an empty one is its end."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def chunked(*parts: bytes) -> bytes:
    """A whole chunked body."""
    return b"".join(map(chunk, [*parts, b""]))


def endless(head: bytes, part: bytes) -> Iterator[bytes]:
    """A body without an end, as far as anybody reads it; a gigabyte at most."""
    return itertools.chain([head], itertools.repeat(part, 2**30 // len(part)))
