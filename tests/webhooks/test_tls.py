"""TLS connections: certificates are verified, connections reused, the deadline holds, also through a proxy's tunnel."""

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from foundation.egress import client
from foundation.egress.client import EndpointClient
from foundation.outbox import Result
from tests.webhooks.certificates import tls_contexts


class Handler(BaseHTTPRequestHandler):
    """Responds with 200; the body names the connection, so that a test can count connections."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = str(self.client_address[1]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(autouse=True)
def _allow_loopback(settings: Any) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    settings.DELIVERY_DEADLINE_SECONDS = 30


@pytest.fixture
def contexts(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return a context for the receiver, and one for a client that trusts its certificate."""
    return tls_contexts(tmp_path)


@pytest.fixture
def url(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> Iterator[str]:
    """Start a receiver that speaks TLS, and return its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket = contexts[0].wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}/hook"
    server.shutdown()
    server.server_close()


@pytest.fixture
def trusted_certificate(contexts: tuple[ssl.SSLContext, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust the receiver's certificate as if a public authority had issued it."""
    monkeypatch.setattr(client, "TLS", contexts[1])


def post(url: str, times: int = 1) -> list[Result]:
    """Send `times` requests with one client."""

    async def send() -> list[Result]:
        async with EndpointClient(url) as endpoint_client:
            return [await endpoint_client.post(b"{}", {"webhook-id": str(number)}) for number in range(times)]

    return asyncio.run(send())


@pytest.mark.usefixtures("trusted_certificate")
def test_deliveries_over_tls_share_one_connection(url: str) -> None:
    results = post(url, 3)

    assert [result.error for result in results] == ["", "", ""]
    assert len({result.response for result in results}) == 1


def test_a_receiver_with_an_untrusted_certificate_is_a_tls_error(url: str) -> None:
    [result] = post(url)

    assert (result.error, result.status_code) == ("tls_error", None)


@pytest.mark.usefixtures("trusted_certificate")
def test_a_receiver_with_the_certificate_of_another_host_is_a_tls_error(url: str) -> None:
    [result] = post(url.replace("127.0.0.1", "localhost"))

    assert result.error == "tls_error"


def test_a_handshake_that_is_never_answered_ends_at_the_deadline(settings: Any) -> None:
    settings.DELIVERY_DEADLINE_SECONDS = 0.5
    with socket.create_server(("127.0.0.1", 0)) as silent:
        [result] = post(f"https://127.0.0.1:{silent.getsockname()[1]}/hook")

    assert result.error == "timeout"
    assert 400 <= result.duration_ms < 20_000


@pytest.mark.usefixtures("trusted_certificate")
def test_one_proxy_tunnel_carries_several_deliveries(url: str, settings: Any) -> None:
    connect_requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        settings.WEBHOOKS_PROXY = f"http://127.0.0.1:{proxy.getsockname()[1]}"
        threading.Thread(target=lambda: tunnel(proxy.accept()[0], connect_requests), daemon=True).start()

        results = post(url, 2)

    host = url.split("/")[2]
    assert [result.error for result in results] == ["", ""]
    assert [request.split(b"\r\n")[:2] for request in connect_requests] == [
        [f"CONNECT {host} HTTP/1.1".encode(), f"Host: {host}".encode()]
    ]


def tunnel(client: socket.socket, connect_requests: list[bytes]) -> None:
    """Serve one CONNECT request as a proxy does, and copy bytes both ways."""
    with client:
        connect_requests.append(client.recv(4096))
        host, port = connect_requests[0].split()[1].decode().split(":")
        with socket.create_connection((host, int(port))) as server:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            responses = threading.Thread(target=copy, args=(server, client), daemon=True)
            responses.start()
            copy(client, server)
            responses.join(60)


def copy(source: socket.socket, destination: socket.socket) -> None:
    """Copy bytes until one side closes."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            destination.sendall(data)
        destination.shutdown(socket.SHUT_WR)
