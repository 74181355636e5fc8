"""A service that listens on this machine and stores what the relays send."""

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

# Read when a relay is imported.
os.environ |= {"SERVICE_URL": "http://127.0.0.1:1", "API_KEY": "pb_test", "WEBHOOK_SECRET": "s3cret"}

from integrations import relay


@dataclass
class Service:
    """Answers each request with `status` and `text`."""

    status: int = 201
    text: str = '{"success": true}'
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str, str, bytes]] = field(default_factory=list)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            service.requests.append((self.command, self.path, self.headers.get("x-api-key", ""), body))
            self.send_response(service.status)
            for name, value in service.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(service.text.encode())

        do_PUT = do_GET = do_POST = handle_any  # noqa: N815

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    monkeypatch.setattr(relay, "SERVICE_URL", f"http://127.0.0.1:{server.server_port}/")
    yield service
    server.shutdown()
    server.server_close()
