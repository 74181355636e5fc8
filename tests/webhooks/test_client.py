"""Receivers that misbehave: every one is bounded and gets a class (abuse cases W1 to W19)."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pipeline_backend.egress import EndpointClient, SendResult

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@contextmanager
def server(behave: Callable[[socket.socket], Any]) -> Iterator[str]:
    """Accepts connections, reads the request, and behaves."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve(client: socket.socket) -> None:
        with client:
            try:
                read_request(client)
                behave(client)
            except OSError:
                pass

    def accept() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/hook"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()


def read_request(client: socket.socket) -> None:
    got = b""
    while not got.endswith(b"{}"):
        got += client.recv(65536)


def drip(*parts: bytes, every: float = 0.2) -> Callable[[socket.socket], None]:
    def behave(client: socket.socket) -> None:
        for part in parts:
            client.sendall(part)
        for _ in range(200):
            time.sleep(every)
            client.sendall(b"X: 1\r\n" if not parts or parts[0] != OK_BODY else b".")

    return behave


OK_BODY = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"


def say(data: bytes) -> Callable[[socket.socket], None]:
    return lambda client: client.sendall(data)


@pytest.fixture(autouse=True)
def _on_loopback(settings: Any) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    settings.DELIVERY_DEADLINE_SECONDS = 1


def post(behave: Callable[[socket.socket], Any]) -> SendResult:
    with server(behave) as url:
        return send(url)[0]


def send(url: str, times: int = 1, *, pause: float = 0) -> list[SendResult]:
    """Post so many times over one line."""

    async def post() -> list[SendResult]:
        line, sent = EndpointClient(url), []
        for _ in range(times):
            sent.append(await line.post(b"{}", {"webhook-id": "1"}))
            await asyncio.sleep(pause)
        line.close()
        return sent

    return asyncio.run(post())


BOUNDED = {
    "says nothing": lambda client: time.sleep(5),
    "drips its headers": drip(b"HTTP/1.1 200 OK\r\n"),
    "drips its body": drip(OK_BODY),
    "continues for ever": lambda client: [
        (client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n"), time.sleep(0.05)) for _ in range(200)
    ],
}


@pytest.mark.parametrize("behave", BOUNDED.values(), ids=BOUNDED.keys())
def test_a_slow_receiver_is_given_up_at_the_total_deadline(behave: Callable[[socket.socket], Any]) -> None:
    sent = post(behave)

    assert sent.error == "timeout"
    assert 900 <= sent.duration_ms < 1900


CLASSES = {
    "an ordinary answer": (say(OK), ""),
    "201": (say(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"), ""),
    "204": (say(b"HTTP/1.1 204 No Content\r\n\r\n"), ""),
    "200 and a body that breaks off": (say(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf"), ""),
    "200 and ten endless megabytes": (
        lambda client: [client.sendall(OK_BODY.replace(b"100000", b"10000000000")), client.sendall(b"x" * 10_000_000)],
        "",
    ),
    "a compressed body": (
        say(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x00\xff"),
        "",
    ),
    "bare line feeds": (say(b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok"), ""),
    "a length beside chunks": (
        say(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
        "",
    ),
    "no reason": (say(b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n"), ""),
    "early hints before a failure": (
        say(b"HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\nHTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"),
        "http_500",
    ),
    "another protocol": (say(b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"), "bad_response"),
    "a head that breaks off": (say(b"HTTP/1.1 200 OK\r\nContent-Le"), "bad_response"),
    "200 and a body of bad chunks": (
        say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nnot a chunk"),
        "",
    ),
    "400": (say(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"), "http_400"),
    "500": (say(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"), "http_500"),
    "a redirect": (
        say(b"HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
        "redirect",
    ),
    "no status line": (say(b"hello\r\n\r\n"), "bad_response"),
    "status 999x": (say(b"HTTP/1.1 999x Odd\r\n\r\n"), "bad_response"),
    "a header of a megabyte": (say(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000_000 + b"\r\n\r\n"), "bad_response"),
    "a thousand headers": (say(b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 1000 + b"\r\n"), "bad_response"),
    "closes without a word": (lambda client: None, "connection_reset"),
}


@pytest.mark.parametrize(("behave", "error"), CLASSES.values(), ids=CLASSES.keys())
def test_each_answer_has_its_class(behave: Callable[[socket.socket], Any], error: str) -> None:
    assert post(behave).error == error


def test_what_is_kept_of_an_answer_is_bounded_and_can_be_stored() -> None:
    sent = post(say(b"HTTP/1.1 500 Oops\r\nContent-Length: 9000\r\n\r\n\x00\xff" + b"x" * 8998))

    assert sent.response.startswith("\\x00\\xff")
    assert len(sent.response) <= 4096 + 6


def test_a_refused_connection_has_its_class() -> None:
    with server(say(OK)) as url:
        pass

    assert send(url)[0].error == "connection_refused"


def test_a_receiver_that_speaks_no_tls_is_a_tls_error(settings: Any) -> None:
    with server(say(OK)) as url:
        [sent] = send(url.replace("http://", "https://"))

    assert sent.error in {"tls_error", "timeout"}


def test_a_connection_that_the_receiver_closed_meanwhile_is_opened_anew() -> None:
    with server(say(OK)) as url:
        errors = [sent.error for sent in send(url, 2, pause=0.1)]

    assert errors == ["", ""]


@pytest.mark.parametrize(
    "more", [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"rest of something"], ids=["a second answer", "rubbish"]
)
def test_a_connection_on_which_something_came_unasked_is_not_used_again(more: bytes) -> None:
    asked: list[socket.socket] = []

    def behave(client: socket.socket) -> None:
        asked.append(client)
        client.sendall(OK.replace(b"200 OK", b"500 Oops") + more)
        client.recv(1)

    with server(behave) as url:
        codes = [sent.status_code for sent in send(url, 2)]

    assert (codes, len(asked)) == ([500, 500], 2)


def test_environment_proxies_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    assert post(say(OK)).error == ""
