"""The text of all metrics, which Prometheus reads with the token, and a worker's HTTP server for it."""

import hmac
import logging
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from django.conf import settings
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE
from prometheus_client.multiprocess import MultiProcessCollector

from foundation.metrics.shared import VARIABLE

logger = logging.getLogger(__name__)

PATH = "/metrics"
CHALLENGE = "Bearer"
READ_SECONDS = 5
__all__ = ["CHALLENGE", "CONTENT_TYPE", "PATH", "is_authorized", "render", "start_server"]


def is_authorized(header: str) -> bool:
    """Return whether an Authorization header has the token. Compares in constant time."""
    return hmac.compare_digest(header.encode(), f"{CHALLENGE} {settings.METRICS_TOKEN}".encode())


def render() -> bytes:
    """Return what this process has counted; in a web server, what all its processes have counted."""
    if VARIABLE not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry)
    return generate_latest(registry)


class Handler(BaseHTTPRequestHandler):
    timeout = READ_SECONDS  # for each read and write

    def do_GET(self) -> None:
        if self.path != PATH:
            self.respond(404)
        elif not is_authorized(self.headers.get("Authorization", "")):
            self.respond(401, ("WWW-Authenticate", CHALLENGE))
        else:
            self.respond(200, ("Content-Type", CONTENT_TYPE), body=render())

    def respond(self, status: int, *headers: tuple[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: Prometheus asks several times a minute."""


def start_server() -> None:
    """Answer scrapes at METRICS_ADDRESS in a thread, if there is a token."""
    if settings.METRICS_TOKEN:
        threading.Thread(target=serve, name="metrics", daemon=True).start()


def serve() -> None:
    """Answer scrapes until the process ends. An address that can't be used is logged."""
    host, _, port = settings.METRICS_ADDRESS.rpartition(":")
    try:
        server = ThreadingHTTPServer((host, int(port)), Handler)
    except OSError as error:
        # The worker's deliveries matter more.
        logger.error("METRICS_ADDRESS %s: %s; this worker can't be scraped", settings.METRICS_ADDRESS, error.strerror)
        return
    server.serve_forever()
