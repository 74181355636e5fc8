"""Receivers that answer without end cost a sender neither memory nor time."""

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

MIB = 1024 * 1024
FIRST = "a plain answer"  # pays for what every first request costs
PIECE = b"x" * 65536
OK = b"HTTP/1.1 200 OK\r\n"


def endless(piece: bytes) -> Iterator[bytes]:
    """The same for ever."""
    return itertools.repeat(piece)


def answers() -> dict[str, Iterable[bytes]]:
    """What each receiver says."""
    bomb = gzip.compress(bytes(100 * MIB))
    return {
        FIRST: [OK + b"Content-Length: 2\r\n\r\nok"],
        "a body without end": itertools.chain([OK + b"\r\n"], endless(PIECE)),
        "a chunked body without end": itertools.chain(
            [OK + b"Transfer-Encoding: chunked\r\n\r\n"], endless(b"10000\r\n" + PIECE + b"\r\n")
        ),
        "one chunk of 10 GB": itertools.chain(
            [OK + b"Transfer-Encoding: chunked\r\n\r\n280000000\r\n"], endless(PIECE)
        ),
        "10 GB announced": itertools.chain([OK + b"Content-Length: 10737418240\r\n\r\n"], endless(PIECE)),
        "a gzip bomb": [OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb) + bomb],
        "a head without end": itertools.chain([OK], endless(b"x: y\r\n" * 1000)),
        "a head of one line without end": itertools.chain([OK + b"x: "], endless(PIECE)),
        "100 Continue without end": endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        "a reason without end": itertools.chain([b"HTTP/1.1 200 "], endless(PIECE)),
    }


@contextmanager
def server(pieces: Iterable[bytes]) -> Iterator[str]:
    """Says the pieces to whoever comes, until they have gone."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            try:
                for piece in pieces:
                    self.request.sendall(piece)
            except OSError:
                pass

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_address[1]}/hook"
        listening.shutdown()


def test_answers_without_end_cost_neither_memory_nor_time(measurements: dict[str, str]) -> None:
    environment = {**os.environ, "WEBHOOKS_ALLOW_PRIVATE": "true", "DELIVERY_DEADLINE_SECONDS": "1"}
    with ExitStack() as servers:
        receivers = answers()
        urls = [servers.enter_context(server(pieces)) for pieces in receivers.values()]
        command = [sys.executable, "-m", "tests.faults.sender_memory", *urls]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=60, check=True)

    costs = dict(zip(receivers, map(json.loads, done.stdout.splitlines()), strict=True))
    most = max(cost["bytes"] for name, cost in costs.items() if name != FIRST)
    measurements["most memory that an answer without end costs"] = f"{most / MIB:.2f} MiB"
    assert most <= MIB, costs
    assert max(cost["seconds"] for cost in costs.values()) <= 3, costs
