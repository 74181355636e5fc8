"""Endless responses cost a sender neither memory nor time."""

import gzip
import itertools
import json
import os
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

from tests.faults.stack import ROOT
from tests.overrides import overriding

MIB = 1024 * 1024
PLAIN = "a plain response"  # sent first, and not counted: the first request loads modules
CHUNK = b"x" * 65536
OK = b"HTTP/1.1 200 OK\r\n"


def responses() -> dict[str, Iterable[bytes]]:
    """Return what each receiver sends, in pieces."""
    bomb = gzip.compress(bytes(100 * MIB))
    endless = itertools.repeat
    chunked = OK + b"Transfer-Encoding: chunked\r\n\r\n"
    gzip_head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    return {
        PLAIN: [OK + b"Content-Length: 2\r\n\r\nok"],
        "an endless body": itertools.chain([OK + b"\r\n"], endless(CHUNK)),
        "an endless chunked body": itertools.chain([chunked], endless(b"10000\r\n" + CHUNK + b"\r\n")),
        "one chunk of 10 GB": itertools.chain([chunked + b"280000000\r\n"], endless(CHUNK)),
        "a Content-Length of 10 GB": itertools.chain([OK + b"Content-Length: 10737418240\r\n\r\n"], endless(CHUNK)),
        "a gzip bomb": [gzip_head + bomb],
        "an endless head": itertools.chain([OK], endless(b"x: y\r\n" * 1000)),
        "an endless header": itertools.chain([OK + b"x: "], endless(CHUNK)),
        "endless long headers": itertools.chain([OK], endless(b"x: " + b"y" * 8000 + b"\r\n")),
        "endless 100 Continue": endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        "an endless reason phrase": itertools.chain([b"HTTP/1.1 200 "], endless(CHUNK)),
    }


@contextmanager
def server(pieces: Iterable[bytes]) -> Iterator[str]:
    """Send the pieces to each client until it disconnects. Yields the URL."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            try:
                for piece in pieces:
                    self.request.sendall(piece)
            except OSError:
                pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listener:
        listener.daemon_threads = True
        threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{listener.server_address[1]}/hook"
        listener.shutdown()


def test_endless_responses_cost_neither_memory_nor_time(measurements: dict[str, str]) -> None:
    environment = {**os.environ, **overriding(WEBHOOKS_ALLOW_PRIVATE=True, DELIVERY_DEADLINE_SECONDS=1)}
    with ExitStack() as servers:
        receivers = responses()
        urls = [servers.enter_context(server(pieces)) for pieces in receivers.values()]
        command = [sys.executable, "-m", "tests.faults.sender_memory", *urls]
        sender = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=300, check=True)

    costs = dict(zip(receivers, map(json.loads, sender.stdout.splitlines()), strict=True))
    max_bytes = max(cost["bytes"] for name, cost in costs.items() if name != PLAIN)
    measurements["most memory that an endless response costs"] = f"{max_bytes / MIB:.2f} MiB"
    # A hundred headers of 8 KiB, as bytes and as text.
    assert max_bytes <= 2 * MIB, costs
    assert max(cost["seconds"] for cost in costs.values()) <= 20, costs
