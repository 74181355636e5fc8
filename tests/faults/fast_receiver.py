"""A webhook receiver as a process of its own, faster than any sender.

The first part of the path says how it responds: /ok at once, /slow after 0.3 seconds, /hang never. Each complete
request is a line in a file: time, path, webhook-id.
"""

import asyncio
import contextlib
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TextIO, cast

SLOW_SECONDS = 0.3
RESPONSE = b"HTTP/1.1 204 No Content\r\n\r\n"


class Arrival(NamedTuple):
    """One request."""

    at: float
    path: str
    id: str


class FastReceiver:
    """Starts the process and reads its file."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "arrivals"
        self.all_arrivals: list[Arrival] = []
        self.partial_line = ""  # the process may be writing it just now

    def __enter__(self) -> "FastReceiver":
        from dev.local import processes  # noqa: PLC0415  # the receiver's own process needs no Django

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
        """Return the URL of a path such as `ok/1`."""
        return f"http://127.0.0.1:{self.port}/{path}"

    def arrivals(self, under: str = "") -> list[Arrival]:
        """Return the requests so far, those below a path if one is given."""
        *complete, self.partial_line = (self.partial_line + self.lines.read()).split("\n")
        for line in complete:
            at, path, id = line.split()
            self.all_arrivals.append(Arrival(float(at), path, id))
        return [arrival for arrival in self.all_arrivals if arrival.path.startswith(f"/{under}")]

    def counts(self, under: str = "") -> Counter[str]:
        """Return how often each event arrived, by its id."""
        return Counter(arrival.id for arrival in self.arrivals(under))

    def has_received(self, count: int, under: str = "") -> Callable[[], bool]:
        """Return a condition to wait for: `count` different events have arrived."""
        return lambda: len(self.counts(under)) >= count


class ReceiverProtocol(asyncio.Protocol):
    """One connection to the receiver."""

    transport: asyncio.Transport

    def __init__(self, log: TextIO) -> None:
        self.log = log
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, _, rest = self.buffer.partition(b"\r\n\r\n")
            request_line, *headers = head.decode().split("\r\n")
            values = {name.lower(): value for name, value in (header.split(": ", 1) for header in headers)}
            length = int(values["content-length"])
            if len(rest) < length:
                return
            self.buffer = rest[length:]
            path = request_line.split()[1]
            self.log.write(f"{time.time():.6f} {path} {values['webhook-id']}\n")
            self.respond(path)

    def respond(self, path: str) -> None:
        if path.startswith("/slow"):
            asyncio.get_running_loop().call_later(SLOW_SECONDS, self.transport.write, RESPONSE)
        elif not path.startswith("/hang"):
            self.transport.write(RESPONSE)


async def serve(file: str) -> None:
    """Print the port and serve until killed."""
    with open(file, "w", buffering=1) as log:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: ReceiverProtocol(log), "127.0.0.1", 0, backlog=1000)
        print(server.sockets[0].getsockname()[1], flush=True)  # noqa: T201
        await server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(sys.argv[1]))
