"""A webhook receiver that listens on a real socket on this machine."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks.webhooks import Webhook


@dataclass
class ReceivedRequest:
    """A request that the receiver got, with lower-case header names."""

    headers: dict[str, str]
    body: bytes
    path: str

    def verify(self, secret: str) -> dict[str, Any]:
        """Return the event. Raises WebhookVerificationError if the official client finds the signature wrong."""
        event: dict[str, Any] = Webhook(secret).verify(self.body, self.headers)
        return event


class Server(ThreadingHTTPServer):
    """An HTTP server that lets many clients connect at once. One that doesn't fit in the queue waits for a second."""

    daemon_threads = True
    request_queue_size = 128


@dataclass
class Receiver:
    """An HTTP server that stores each request and responds with `status_codes` in turn, the last one from then on.

    `on_request` is called before each response, with the number of the request (the first is 1).
    """

    status_codes: list[int] = field(default_factory=lambda: [204])
    response_headers: dict[str, str] = field(default_factory=dict)
    requests: list[ReceivedRequest] = field(default_factory=list)
    on_request: Callable[[int], object] = field(default=lambda number: None)
    connections: int = 0
    url: str = ""

    def __enter__(self) -> "Receiver":
        self.server = Server(("127.0.0.1", 0), build_handler(self))
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        # shutdown() waits for up to a poll interval; the default of half a second would slow every test down.
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def event_types(self) -> list[str]:
        """Return the types of the received events, in order of arrival."""
        return [json.loads(request.body)["type"] for request in self.requests]


def build_handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    """Return a handler class that is bound to the receiver, because the server creates one instance per connection."""

    class Handler(BaseHTTPRequestHandler):
        # HTTP/1.1 keeps connections open, so that tests can count how many were opened.
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            receiver.connections += 1
            super().setup()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.requests.append(ReceivedRequest(headers, body, self.path))
            # Chosen before the callback, which may change the codes of later requests.
            codes = receiver.status_codes
            status_code = codes.pop(0) if len(codes) > 1 else codes[0]
            receiver.on_request(len(receiver.requests))
            self.send_response(status_code)
            for name, value in receiver.response_headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Keep the test output free of request lines."""

        do_PUT = do_POST  # noqa: N815

    return Handler
