"""Receivers that misbehave: each attempt is bounded in time and memory, and gets an error class."""

import asyncio
import gc
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from foundation.egress.client import EndpointClient
from foundation.outbox import Result

Behavior = Callable[[socket.socket], Any]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
OK_LONG_BODY = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"


@contextmanager
def server(behavior: Behavior) -> Iterator[str]:
    """Accept connections, read a request from each, and behave. Yields the URL."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve(client: socket.socket) -> None:
        with client:
            try:
                read_request(client)
                behavior(client)
            except OSError:
                pass

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/hook"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def read_request(client: socket.socket) -> None:
    """Read to the end of a request's body. Raises ConnectionError if the client has closed the connection."""
    data = b""
    while not data.endswith(b"{}"):
        received = client.recv(65536)
        if not received:
            raise ConnectionError
        data += received


def respond(data: bytes) -> Behavior:
    return lambda client: client.sendall(data)


def drip(beginning: bytes, piece: bytes) -> Behavior:
    """Send the beginning, then a small piece five times a second."""

    def behavior(client: socket.socket) -> None:
        client.sendall(beginning)
        for _ in range(200):
            time.sleep(0.2)
            client.sendall(piece)

    return behavior


@pytest.fixture(autouse=True)
def _allow_loopback(settings: Any) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    settings.DELIVERY_DEADLINE_SECONDS = 30


def post(behavior: Behavior) -> Result:
    with server(behavior) as url:
        return send(url)[0]


def send(url: str, times: int = 1, *, pause: float = 0) -> list[Result]:
    """Send `times` requests with one client."""

    async def post() -> list[Result]:
        results = []
        async with EndpointClient(url) as client:
            for _ in range(times):
                results.append(await client.post(b"{}", {"webhook-id": "1"}))
                await asyncio.sleep(pause)
        return results

    return asyncio.run(post())


SLOW_RECEIVERS = {
    "sends nothing": lambda client: time.sleep(60),
    "drips its head": drip(b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n"),
    "drips its body": drip(OK_LONG_BODY, b"."),
    "sends 100 Continue for ever": lambda client: [
        (client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n"), time.sleep(0.05)) for _ in range(1000)
    ],
}


@pytest.mark.parametrize("behavior", SLOW_RECEIVERS.values(), ids=SLOW_RECEIVERS.keys())
def test_a_slow_receiver_is_given_up_at_the_total_deadline(behavior: Behavior, settings: Any) -> None:
    settings.DELIVERY_DEADLINE_SECONDS = 1

    result = post(behavior)

    assert result.error == "timeout"
    assert 900 <= result.duration_ms < 20_000  # each of them goes on for longer


ERROR_CLASSES = {
    "an ordinary response": (respond(OK), ""),
    "201": (respond(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"), ""),
    "204": (respond(b"HTTP/1.1 204 No Content\r\n\r\n"), ""),
    "200 and a body that breaks off": (respond(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf"), ""),
    "200 and ten endless megabytes": (
        respond(OK_LONG_BODY.replace(b"100000", b"10000000000") + b"x" * 10_000_000),
        "",
    ),
    "a compressed body": (
        respond(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x00\xff"),
        "",
    ),
    "bare line feeds": (respond(b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok"), ""),
    "a length and chunks": (
        respond(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
        "bad_response",
    ),
    "no reason phrase": (respond(b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"), ""),
    "early hints before a failure": (
        respond(b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\nHTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"),
        "http_500",
    ),
    "another protocol": (
        respond(b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"),
        "http_101",
    ),
    "a head that breaks off": (respond(b"HTTP/1.1 200 OK\r\nContent-Le"), "connection_reset"),
    "200 and a body of bad chunks": (respond(CHUNKED + b"zz\r\nnot a chunk"), ""),
    "200 and a bad chunk later": (
        lambda client: (client.sendall(CHUNKED + b"2\r\nok\r\n"), time.sleep(0.1), client.sendall(b"zz\r\n")),
        "",
    ),
    "400": (respond(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"), "http_400"),
    "500": (respond(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"), "http_500"),
    "a redirect": (
        respond(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
        "redirect",
    ),
    "no status line": (respond(b"hello\r\n\r\n"), "bad_response"),
    "status 999x": (respond(b"HTTP/1.1 999x Odd\r\n\r\n"), "bad_response"),
    "a header of one megabyte": (respond(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000_000 + b"\r\n\r\n"), "bad_response"),
    "a thousand headers": (respond(b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 1000 + b"\r\n"), "bad_response"),
    "closes without sending anything": (lambda client: None, "connection_reset"),
}


@pytest.mark.parametrize(("behavior", "error"), ERROR_CLASSES.values(), ids=ERROR_CLASSES.keys())
def test_each_response_has_its_error_class(behavior: Behavior, error: str) -> None:
    assert post(behavior).error == error


def test_the_stored_part_of_a_response_is_bounded_and_can_be_stored() -> None:
    result = post(respond(b"HTTP/1.1 500 Oops\r\nContent-Length: 9000\r\n\r\n\x00\xff" + b"x" * 8998))

    assert result.response.startswith("\\x00\\xff")
    assert len(result.response) <= 4096 + 6


def test_a_refused_connection_has_its_error_class() -> None:
    with server(respond(OK)) as url:
        pass

    assert send(url)[0].error == "connection_refused"


def test_a_receiver_that_does_not_speak_tls_is_a_tls_error(settings: Any) -> None:
    settings.DELIVERY_DEADLINE_SECONDS = 1
    with server(respond(OK)) as url:
        [result] = send(url.replace("http://", "https://"))

    assert result.error in {"tls_error", "timeout"}


def test_a_connection_that_the_receiver_has_closed_is_replaced_by_a_new_one() -> None:
    with server(respond(OK)) as url:
        errors = [result.error for result in send(url, 2, pause=0.5)]

    assert errors == ["", ""]


@pytest.mark.parametrize("delay", [0, 0.1], ids=["at once", "later"])
@pytest.mark.parametrize(
    "excess",
    [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"rest of something"],
    ids=["a second response", "garbage"],
)
def test_a_connection_with_bytes_behind_the_response_is_not_used_again(excess: bytes, delay: float) -> None:
    connections: list[socket.socket] = []
    response = OK.replace(b"200 OK", b"500 Oops")

    def behavior(client: socket.socket) -> None:
        connections.append(client)
        client.sendall(response if delay else response + excess)
        time.sleep(delay)
        if delay:
            client.sendall(excess)
        client.recv(1)

    with server(behavior) as url:
        status_codes = [result.status_code for result in send(url, 2, pause=10 * delay)]

    assert (status_codes, len(connections)) == ([500, 500], 2)


def test_proxies_from_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    assert post(respond(OK)).error == ""


def test_the_stored_head_and_the_body_are_the_bytes_that_were_sent() -> None:
    received: list[bytes] = []

    def read_request_and_respond(client: socket.socket) -> None:
        with client:
            received.append(client.recv(65536))
            client.sendall(OK)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=lambda: read_request_and_respond(listener.accept()[0]), daemon=True).start()
        [result] = send(f"http://127.0.0.1:{listener.getsockname()[1]}/a%2Fb/../%C3%A4?q=%20+x")

    assert received == [result.request_head.encode() + b"{}"]
    assert result.request_head.splitlines()[0] == "POST /a%2Fb/../%C3%A4?q=%20+x HTTP/1.1"


def test_concurrent_requests_have_a_connection_each_and_share_those_with_later_requests() -> None:
    connections: list[socket.socket] = []
    all_arrived = threading.Barrier(3)

    def behavior(client: socket.socket) -> None:
        connections.append(client)
        all_arrived.wait(60)
        client.sendall(OK)
        while True:
            read_request(client)
            client.sendall(OK)

    async def post_six(url: str) -> list[str]:
        async with EndpointClient(url, connections=3) as client:
            results = []
            for _ in range(2):
                results += await asyncio.gather(*(client.post(b"{}", {}) for _ in range(3)))
        return [result.error for result in results]

    with server(behavior) as url:
        assert asyncio.run(post_six(url)) == [""] * 6
    assert len(connections) == 3


def test_a_client_leaves_no_connection_open(recwarn: pytest.WarningsRecorder) -> None:
    closed = threading.Event()

    def behavior(client: socket.socket) -> None:
        client.sendall(OK)
        if not client.recv(1):
            closed.set()

    with server(behavior) as url:
        assert send(url)[0].error == ""
        assert closed.wait(60)
    gc.collect()
    assert not [warning for warning in recwarn if issubclass(warning.category, ResourceWarning)]
