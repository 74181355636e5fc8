"""Streamed responses: neither their size nor a slow client costs memory or a thread (docs/guarantees.md, *Floods*)."""

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing

import psutil
import pytest

from tests.faults.stack import Stack, wait_for

pytestmark = pytest.mark.django_db(transaction=True)

MIB = 1024 * 1024
CHUNK_SIZE = 10_000


@pytest.fixture(scope="module")
def stack(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The web server with a single thread and a page that streams."""
    with Stack(tmp_path_factory.mktemp("streaming")) as stack:
        stack.overrides |= {"WEB_THREADS": 1, "RESPONSES_LIMIT_PER_GROUP": 250 * MIB}
        stack.start("streaming_web")
        yield stack


def request_stream(stack: Stack, query: str, *, path: str = "/stream", address: str = "127.0.0.1") -> socket.socket:
    """Send a request for a response, and return the connection without reading it."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # little of it waits in the kernel
    connection.settimeout(60)
    connection.bind((address, 0))
    connection.connect(("127.0.0.1", stack.port))
    connection.sendall(f"GET {path}?{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    return connection


def read_all(connection: socket.socket) -> tuple[bytes, int]:
    """Read until the server closes; return the head and the number of bytes after it."""
    head, size = b"", 0
    while received := connection.recv(65_536):
        if b"\r\n\r\n" in head:
            size += len(received)
        else:
            head += received
    head, _, rest = head.partition(b"\r\n\r\n")
    return head, size + len(rest)


def worker_memory(stack: Stack) -> int:
    """Return the resident memory of the web server's worker, in bytes."""
    main = psutil.Process(stack.processes["streaming_web"].pid)
    return sum(process.memory_info().rss for process in main.children(recursive=True))


def log(stack: Stack) -> str:
    return (stack.folder / "streaming_web.log").read_text()


@pytest.mark.parametrize("path", ["stream", "whole"])
@pytest.mark.parametrize("chunks", [0, 1, 100, 105, 106, 1000])
def test_a_response_arrives_whole(stack: Stack, chunks: int, path: str):
    with urllib.request.urlopen(stack.url(f"/{path}?chunks={chunks}")) as response:
        body = response.read()

    assert (response.status, response.headers["Content-Type"]) == (200, "text/csv")
    assert response.headers["Content-Length"] == str(chunks * CHUNK_SIZE)
    assert body == b"x" * chunks * CHUNK_SIZE


def test_a_large_response_stands_neither_in_memory_nor_in_the_way_of_others(stack: Stack):
    """100 MB, to a client that doesn't read it until another one was answered by the only thread."""
    with closing(request_stream(stack, "chunks=100")) as connection:
        read_all(connection)
    memory = worker_memory(stack)

    with closing(request_stream(stack, "chunks=10000")) as connection:
        assert connection.recv(1, socket.MSG_PEEK) == b"H"  # the response has begun
        assert stack.get("/readyz")[0] == 200
        growth = worker_memory(stack) - memory
        head, size = read_all(connection)

    assert head.startswith(b"HTTP/1.1 200")
    assert size == 100_000_000
    assert max(growth, worker_memory(stack) - memory) < 20 * MIB


def begin(stack: Stack, clients: ExitStack, chunks: int, address: str = "127.0.0.1") -> tuple[socket.socket, bytes]:
    """Request a response until it begins, and read no more of it than its status."""
    connection = request_stream(stack, f"chunks={chunks}", path="/whole", address=address)
    clients.enter_context(closing(connection))
    return connection, connection.recv(12)


def test_large_responses_to_clients_that_do_not_read_are_not_held_in_memory(stack: Stack):
    """40 clients, each with a response of 5 MB that a view has made as a whole."""
    with closing(request_stream(stack, "chunks=500", path="/whole")) as connection:
        read_all(connection)
    memory = worker_memory(stack)

    with ExitStack() as clients:
        begun = [begin(stack, clients, 500, "127.0.4.1") for _ in range(40)]
        growth = worker_memory(stack) - memory
        sizes = {read_all(connection)[1] for connection, _ in begun}

    assert {head for _, head in begun} == {b"HTTP/1.1 200"}
    assert sizes == {5_000_000}
    assert growth < 60 * MIB


def test_large_responses_that_a_network_does_not_read_have_a_limit_on_disk(stack: Stack):
    with ExitStack() as clients:
        begun = [begin(stack, clients, 6000, f"127.0.5.{number}") for number in range(1, 6)]
        refused = read_all(begun[-1][0])[0]
        other = begin(stack, clients, 6000, "127.0.6.1")[1]

    assert [head for _, head in begun] == [b"HTTP/1.1 200"] * 4 + [b"HTTP/1.1 503"]
    assert b"retry-after" in refused.lower()
    assert other == b"HTTP/1.1 200"
    with ExitStack() as clients:
        wait_for(lambda: begin(stack, clients, 6000, "127.0.5.6")[1] == b"HTTP/1.1 200")


def test_a_client_that_goes_away_ends_the_response(stack: Stack):
    before = log(stack)

    with closing(request_stream(stack, "chunks=1000000&seconds=0.01")):
        wait_for(lambda: log(stack).count("begun") > before.count("begun"))

    wait_for(lambda: log(stack).count("closed after") > before.count("closed after"))
    assert stack.get("/readyz")[0] == 200
    assert "closed after 1000000" not in log(stack)


def test_a_response_that_fails_in_the_middle_is_an_error_and_not_half_a_file(stack: Stack):
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(stack.url("/stream?chunks=1000&fail=1"))

    with error.value as response:
        assert response.code == 500
    assert "failing after the last chunk" in log(stack)
    assert stack.get("/readyz")[0] == 200
