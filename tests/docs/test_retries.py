"""The examples of docs/api.md repeat a request that got no response, a 429, or a 409 with Retry-After, as it was."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.docs import guide
from tests.docs.pages import blocks


class BusyServer(BaseHTTPRequestHandler):
    """Closes the connection of the first request; answers 429, 409 with Retry-After, and 409."""

    received: list[tuple[bytes, float]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.received.append((body, time.monotonic()))
        if len(self.received) == 1:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.send_response(429 if len(self.received) == 2 else 409)
        if len(self.received) < 4:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(b'{"message": "Booked for another time"}')

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def busy_server() -> Iterator[str]:
    BusyServer.received = []
    with HTTPServer(("127.0.0.1", 0), BusyServer) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("language", [language for language in guide.LANGUAGES if language != "sh"])
def test_a_request_is_repeated_until_it_has_a_response(language: str, tmp_path: Path):
    examples = {block.text.split()[1]: block.text for block in blocks(language) if block.page == guide.PAGE}
    [book] = [name for name in examples if name.startswith("book.")]

    with busy_server() as url:
        for name, text in examples.items():
            (tmp_path / name).write_text(text.replace("http://127.0.0.1:8000", url))
        environment = {"PATH": os.environ["PATH"], "PIPELINE_API_KEY": "pb_"}
        output = subprocess.check_output([guide.PROGRAMS[language], book], cwd=tmp_path, env=environment, text=True)

    bodies, times = zip(*BusyServer.received, strict=True)
    assert output.startswith("Booked for another time")
    assert (len(bodies), len(set(bodies))) == (4, 1)
    assert min(times[2] - times[1], times[3] - times[2]) >= 1
