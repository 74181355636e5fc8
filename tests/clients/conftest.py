"""A client of the live service, and a server that fails before it answers."""

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from pipeline_client import Pipeline

from tests.client import ApiClient

BOOKED = {"data": {"id": "0193e0a5-77c4-7b6f-9d0e-3c6f5d2a0002", "is_duplicate": False}}


@pytest.fixture
def pipeline(live_server: Any, api: ApiClient) -> Iterator[Pipeline]:
    with Pipeline(live_server.url, str(api.key), deadline=5) as client:
        yield client


@dataclass
class FailingServer:
    """Answers with these (status code, headers) in turn; a status code 0 closes the connection."""

    answers: list[tuple[int, dict[str, str]]]
    requests: list[tuple[str, str | None, bytes]] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def failing_server() -> Iterator[Callable[..., FailingServer]]:
    servers = []

    def start(*answers: tuple[int, dict[str, str]]) -> FailingServer:
        state = FailingServer(list(answers))
        server = ThreadingHTTPServer(("127.0.0.1", 0), build_handler(state))
        state.url = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
        return state

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def build_handler(state: FailingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.requests.append((self.path, self.headers["Idempotency-Key"], body))
            code, headers = state.answers.pop(0)
            if not code:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            text = BOOKED if code < 300 else {"status": "error", "message": f"Refused with {code}"}
            self.wfile.write(b"<html>" if code == 502 else json.dumps(text).encode())

        def log_message(self, *_: object) -> None:
            pass

    return Handler
