"""A webhook receiver as a process of its own, quick enough to outrun any sender.

The first part of the path says how it answers: /ok at once, /slow after 0.3 seconds, /hang never. Each request that
came whole is a line in a file: when, path, webhook-id.
"""

import asyncio
import contextlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TextIO

SLOW_SECONDS = 0.3
ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"


class Arrival(NamedTuple):
    """One request."""

    at: float
    path: str
    id: str


class FastReceiver:
    """The test's side of it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "arrivals"
        self.seen: list[Arrival] = []
        self.broken_off = ""  # a line that is still being written

    def __enter__(self) -> "FastReceiver":
        from pipeline_backend.local import processes  # noqa: PLC0415  # the receiver's own process needs no Django

        command = [sys.executable, "-m", "tests.faults.fast_receiver", self.file]
        self.process = processes.start(command, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.lines = self.file.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
        self.lines.close()

    def url(self, path: str) -> str:
        """The address of a path such as `ok/1`."""
        return f"http://127.0.0.1:{self.port}/{path}"

    def arrivals(self, under: str = "") -> list[Arrival]:
        """What has come so far, below a path."""
        *whole, self.broken_off = (self.broken_off + self.lines.read()).split("\n")
        for line in whole:
            at, path, id = line.split()
            self.seen.append(Arrival(float(at), path, id))
        return [one for one in self.seen if one.path.startswith(f"/{under}")]

    def times(self, under: str = "") -> Counter[str]:
        """How often each event came."""
        return Counter(one.id for one in self.arrivals(under))

    def has(self, count: int, under: str = "") -> Callable[[], bool]:
        """Whether so many different events have come, as a question to wait for."""
        return lambda: len(self.times(under)) >= count


class Line(asyncio.Protocol):
    """One connection."""

    def __init__(self, log: TextIO) -> None:
        self.log = log
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, _, rest = self.buffer.partition(b"\r\n\r\n")
            first, *fields = head.decode().split("\r\n")
            values = {name.lower(): value for name, value in (field.split(": ", 1) for field in fields)}
            length = int(values["content-length"])
            if len(rest) < length:
                return
            self.buffer = rest[length:]
            path = first.split()[1]
            self.log.write(f"{time.time():.6f} {path} {values['webhook-id']}\n")
            self.answer(path)

    def answer(self, path: str) -> None:
        if path.startswith("/slow"):
            asyncio.get_running_loop().call_later(SLOW_SECONDS, self.transport.write, ANSWER)  # type: ignore[attr-defined]
        elif not path.startswith("/hang"):
            self.transport.write(ANSWER)  # type: ignore[attr-defined]


async def serve(file: str) -> None:
    """Until killed; the port is the only word said."""
    with open(file, "w", buffering=1) as log:
        server = await asyncio.get_running_loop().create_server(lambda: Line(log), "127.0.0.1", 0, backlog=1000)
        print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
        await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(sys.argv[1]))
