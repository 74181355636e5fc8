"""Over TLS: verified, kept open, bounded by the same deadline, and also through a proxy's tunnel."""

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

from pipeline_backend.egress import EndpointClient, SendResult, client
from tests.webhooks.certificates import self_signed


class Handler(BaseHTTPRequestHandler):
    """Answers 204; the body names the connection, so that it can be seen how many there were."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = str(self.client_address[1]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(autouse=True)
def _on_loopback(settings: Any) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    settings.DELIVERY_DEADLINE_SECONDS = 3


@pytest.fixture
def trusted(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """The receiver's side, and the side of those who believe it."""
    return self_signed(tmp_path)


@pytest.fixture
def url(trusted: tuple[ssl.SSLContext, ssl.SSLContext]) -> Iterator[str]:
    """A receiver that speaks TLS."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket = trusted[0].wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}/hook"
    server.shutdown()
    server.server_close()


@pytest.fixture
def believing(trusted: tuple[ssl.SSLContext, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the receiver's certificate were a public authority's."""
    monkeypatch.setattr(client, "tls", lambda: trusted[1])


def post(url: str, times: int = 1) -> list[SendResult]:
    """So many posts over one line."""

    async def send() -> list[SendResult]:
        line = EndpointClient(url)
        sent = [await line.post(b"{}", {"webhook-id": str(number)}) for number in range(times)]
        line.close()
        return sent

    return asyncio.run(send())


@pytest.mark.usefixtures("believing")
def test_deliveries_over_tls_share_one_connection(url: str) -> None:
    sent = post(url, 3)

    assert [one.error for one in sent] == ["", "", ""]
    assert len({one.response for one in sent}) == 1


def test_a_receiver_whose_certificate_nobody_vouches_for_is_a_tls_error(url: str) -> None:
    assert [(one.error, one.status_code) for one in post(url)] == [("tls_error", None)]


@pytest.mark.usefixtures("believing")
def test_a_receiver_with_the_certificate_of_another_host_is_a_tls_error(url: str) -> None:
    assert post(url.replace("127.0.0.1", "localhost"))[0].error == "tls_error"


def test_a_handshake_that_is_never_answered_ends_at_the_deadline(settings: Any) -> None:
    settings.DELIVERY_DEADLINE_SECONDS = 0.5
    with socket.create_server(("127.0.0.1", 0)) as silent:
        sent = post(f"https://127.0.0.1:{silent.getsockname()[1]}/hook")[0]

    assert sent.error == "timeout"
    assert 400 <= sent.duration_ms < 2000


@pytest.mark.usefixtures("believing")
@pytest.mark.parametrize("scheme", ["https", "http"])
def test_a_proxys_tunnel_carries_deliveries_one_after_another(url: str, settings: Any, scheme: str) -> None:
    asked: list[bytes] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as plain, socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=plain.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        address = url if scheme == "https" else f"http://127.0.0.1:{plain.server_port}/hook"
        settings.WEBHOOKS_PROXY = f"http://127.0.0.1:{listening.getsockname()[1]}"
        threading.Thread(target=lambda: tunnel(listening.accept()[0], asked), daemon=True).start()

        sent = post(address, 2)
        plain.shutdown()

    host = address.split("/")[2]
    assert [one.error for one in sent] == ["", ""]
    assert asked == [f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()]


def tunnel(client: socket.socket, asked: list[bytes]) -> None:
    """What a proxy does: both ways, byte for byte."""
    with client:
        asked.append(client.recv(4096))
        host, port = asked[0].split()[1].decode().split(":")
        with socket.create_connection((host, int(port))) as server:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=copy, args=(server, client), daemon=True)
            back.start()
            copy(client, server)
            back.join(5)


def copy(here: socket.socket, there: socket.socket) -> None:
    """Until one side ends."""
    with contextlib.suppress(OSError):
        while data := here.recv(65536):
            there.sendall(data)
        there.shutdown(socket.SHUT_WR)
