"""A webhook receiver on a real socket of this machine."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks.webhooks import Webhook


@dataclass
class Received:
    """One request as it came."""

    headers: dict[str, str]
    body: bytes

    def verified(self, secret: str) -> dict[str, Any]:
        """The event, checked by the official client; raises if the signature is wrong."""
        event: dict[str, Any] = Webhook(secret).verify(self.body, self.headers)
        return event


@dataclass
class Receiver:
    """Answers with `codes` in turn (the last one from then on) and keeps what came; `extra` are headers to answer with.

    `meanwhile` is called before each answer, with the number of the request.
    """

    codes: list[int] = field(default_factory=lambda: [204])
    extra: dict[str, str] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    meanwhile: Callable[[int], object] = field(default=lambda number: None)
    connections: int = 0
    url: str = ""

    def __enter__(self) -> "Receiver":
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(self))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def types(self) -> list[str]:
        """The event types received, in order."""
        return [json.loads(one.body)["type"] for one in self.received]


def handler_for(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    """The server's side."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            receiver.connections += 1
            super().setup()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.received.append(Received({name.lower(): value for name, value in self.headers.items()}, body))
            codes = receiver.codes
            code = codes.pop(0) if len(codes) > 1 else codes[0]
            receiver.meanwhile(len(receiver.received))
            self.send_response(code)
            for name, value in receiver.extra.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return Handler
