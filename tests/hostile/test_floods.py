"""Connections and bodies that cost a client little and must cost nobody else anything (docs/guarantees.md, L1 and L4).

The web server runs as in production. Two addresses of the loopback network stand for two client machines.
"""

import contextlib
import http.client
import json
import re
import resource
import socket
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence

import psutil
import pytest
from django.http import HttpResponse
from django.test import RequestFactory

from accounts.sign_in_limits import COOKIE, remember_browser
from organizations.models import Organization, User
from pipeline_backend.web.__main__ import MAX_CONNECTIONS
from tests.client import ApiClient, booking_payload
from tests.factories import make_api, make_member, make_organization, owner_of, snapshot_of, summary_of
from tests.faults.stack import Stack, wait_for
from tests.hostile.input_counter import count_inputs
from tests.hostile.openapi import body_schemas
from tests.hostile.raw_http import RawHttpClient, read_response
from tests.hostile.test_slow_pages import session_of

ATTACKER, OTHER_CLIENT = "127.0.0.1", "127.0.0.2"
CONNECTIONS = 3_000
# In which every request of the other client must be answered: less than it takes to close a stalled connection. The
# multiple of the usual time is for a busy machine.
SECONDS, USUAL_TIMES = 4.5, 10
ATTEMPTS = 3  # a busy machine can be late once; connections that delay others do so each time
MIB = 1024 * 1024
CREATE = "POST /api/external/appointments"
UNFINISHED = f"Content-Length: {MIB - 1}"
JSON = "Content-Type: application/json"
LIST = "/api/external/appointments"
COUNTED_AS = "flooding connections"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module", autouse=True)
def many_open_files() -> None:
    """Allow this process a socket for each connection; the web server raises its own limit."""
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = CONNECTIONS + 1_000
    if hard_limit != resource.RLIM_INFINITY and hard_limit < max(needed, MAX_CONNECTIONS + 512):
        pytest.fail(f"These tests need {needed} open files, and the system allows {hard_limit}: raise `ulimit -Hn`.")
    if soft_limit != resource.RLIM_INFINITY and soft_limit < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard_limit))


@pytest.fixture(scope="module")
def stack(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Start the web server with two worker processes, as in production, once for all tests of connections."""
    with Stack(tmp_path_factory.mktemp("floods"), web_workers=2) as stack:
        stack.settings |= {"RATE_LIMIT_PER_MINUTE": "100000"}
        stack.start("web")
        yield stack


@pytest.fixture(scope="module")
def small_stack(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Start a web server with one worker process that waits a minute for bodies."""
    with Stack(tmp_path_factory.mktemp("bodies")) as stack:
        stack.settings |= {"RATE_LIMIT_PER_MINUTE": "100000"}
        stack.overrides["BODY_SECONDS"] = 60
        stack.start("web")
        yield stack


@contextlib.contextmanager
def open_connections(port: int, address: str, count: int, data: bytes) -> Iterator[list[socket.socket]]:
    """Open connections from an address, send the same data on each, and close them at the end."""
    with contextlib.ExitStack() as stack:
        connections = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(address, 0))
            connections.append(stack.enter_context(connection))
            with contextlib.suppress(ConnectionError):
                connection.sendall(data)
        yield connections


def request_from(
    address: str, port: int, operation: str, key: str = "", body: bytes | None = None
) -> tuple[int, http.client.HTTPMessage]:
    """Send a request from an address; return its status code and headers."""
    method, path = operation.split(" ")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60, source_address=(address, 0))
    headers = {"Host": "localhost", "x-api-key": key, "Content-Type": "application/json"}
    with contextlib.closing(connection):
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        response.read()
    return response.status, response.headers


def request_as_other_client(port: int, key: str) -> tuple[list[int], float]:
    """Ask five times whether the server is ready, and for a list; return the status codes and the longest time."""
    codes, seconds = [], []
    for operation in ["GET /readyz", "GET /api/external/appointments?limit=10"] * 5:
        started_at = time.monotonic()
        codes.append(request_from(OTHER_CLIENT, port, operation, key)[0])
        seconds.append(time.monotonic() - started_at)
    return codes, max(seconds)


def request_during_flood(
    stack: Stack, key: str, data: bytes, prepare: Callable[[list[socket.socket]], None]
) -> tuple[list[int], bool]:
    """Ask as the other client while the connections are open; return the status codes, and whether all attempts were
    delayed.
    """
    for _ in range(ATTEMPTS):
        _, usual_seconds = request_as_other_client(stack.port, key)
        with open_connections(stack.port, ATTACKER, CONNECTIONS, data) as connections:
            prepare(connections)
            codes, seconds = request_as_other_client(stack.port, key)
        is_delayed = seconds >= SECONDS + USUAL_TIMES * usual_seconds
        if not is_delayed or codes != [200] * 10:
            break
    return codes, is_delayed


def is_open(connection: socket.socket) -> bool:
    """Return whether the server has neither answered nor closed the connection."""
    connection.setblocking(False)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    finally:
        connection.settimeout(60)
    return False


FLOODS: dict[str, Callable[[RawHttpClient], bytes]] = {
    "idle": lambda raw: b"",
    "half a head": lambda raw: raw.build_request(CREATE)[:-10],
    "half a body": lambda raw: raw.build_request(CREATE, UNFINISHED, JSON) + b"{",
    "half a form": lambda raw: raw.build_request("POST /admin/login/", UNFINISHED) + b"u",
    "half a body for nothing": lambda raw: raw.build_request("POST /nothing", UNFINISHED) + b"{",
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_3_000_stalled_connections_of_one_client_delay_no_other(
    stack: Stack, api: ApiClient, flood: Callable[[RawHttpClient], bytes], measurements: dict[str, str]
) -> None:
    count_inputs(measurements, COUNTED_AS, CONNECTIONS)
    key = api.key or ""
    data = flood(RawHttpClient(stack.port, key))

    codes, is_delayed = request_during_flood(stack, key, data, lambda connections: None)

    assert (codes, is_delayed) == ([200] * 10, False)


def test_3_000_kept_alive_connections_of_one_client_delay_no_other(
    stack: Stack, api: ApiClient, measurements: dict[str, str]
) -> None:
    count_inputs(measurements, COUNTED_AS, CONNECTIONS)
    key = api.key or ""
    request = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"

    def read_answers(connections: list[socket.socket]) -> None:
        assert sum(connection.recv(12) == b"HTTP/1.1 200" for connection in connections) == CONNECTIONS

    codes, is_delayed = request_during_flood(stack, key, request, read_answers)

    assert (codes, is_delayed) == ([200] * 10, False)


def test_idle_connections_are_closed_after_five_seconds(stack: Stack, measurements: dict[str, str]) -> None:
    count_inputs(measurements, COUNTED_AS, 3)
    kept_alive = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"

    with contextlib.ExitStack() as exit_stack:
        idle, half, used = (
            exit_stack.enter_context(open_connections(stack.port, ATTACKER, 1, data))[0]
            for data in (b"", kept_alive[:20], kept_alive)
        )
        assert used.recv(12) == b"HTTP/1.1 200"
        used.recv(65_536)
        were_open = [is_open(connection) for connection in (idle, half, used)]
        wait_for(lambda: not any(is_open(connection) for connection in (idle, half, used)))

    assert were_open == [True] * 3


WITHOUT_BODY = {
    "POST /nothing": 404,
    "POST /healthz": 405,
    "POST /api/nothing": 404,
    "POST /api/external/statuses": 405,
    "POST /api/schema": 405,
    "PATCH /api/external/appointments": 405,
    "GET /api/external/leads?email=a%40b.cd": 200,
    "DELETE /api/external/appointments": 405,
    "POST /admin/nothing": 302,
    "POST /": 405,
}


def test_a_body_is_not_read_where_none_is_taken(
    small_stack: Stack, api: ApiClient, organization: Organization, measurements: dict[str, str]
) -> None:
    count_inputs(measurements, COUNTED_AS, len(WITHOUT_BODY))
    raw = RawHttpClient(small_stack.port, api.key or "")
    before = snapshot_of(organization)
    memory = worker_memory(small_stack)

    codes = {}
    for operation in WITHOUT_BODY:
        with open_connections(small_stack.port, ATTACKER, 10, raw.build_request(operation, UNFINISHED, JSON)) as sent:
            codes[operation] = {read_response(connection, is_head=False).status_code for connection in sent}

    # They would be 408 after a minute if the server waited for their bodies.
    assert all(len(found) == 1 and found.isdisjoint({0, 408, 503}) for found in codes.values()), codes
    assert worker_memory(small_stack) - memory < 20 * MIB
    assert snapshot_of(organization) == before


def test_a_connection_with_an_unread_body_is_not_used_again(small_stack: Stack, api: ApiClient) -> None:
    """The server closes it. A proxy that keeps it would send another client's request on it, which would fail."""
    key = api.key or ""
    too_long = b" " * (MIB + 1)

    headers = {
        (operation, given): request_from(OTHER_CLIENT, small_stack.port, operation, given, body)[1]["Connection"]
        for operation, given, body in (
            ("POST /nothing", "", b"{}"),
            (CREATE, "", b"{}"),
            ("POST /api/nothing", key, b"{}"),
            (CREATE, key, b"{}"),
            (f"GET {LIST}", key, None),
        )
    }
    with contextlib.suppress(ConnectionError):  # while it is being sent
        assert request_from(OTHER_CLIENT, small_stack.port, CREATE, key, too_long)[1]["Connection"] == "close"

    assert list(headers.values()) == ["close", "close", "close", None, None]


@pytest.mark.parametrize("operation", body_schemas())
def test_a_body_is_read_where_one_is_documented(small_stack: Stack, api: ApiClient, operation: str) -> None:
    request = RawHttpClient(small_stack.port, api.key or "").build_request(operation.replace("{id}", "a"), body=b"{")

    with open_connections(small_stack.port, ATTACKER, 1, request) as [connection]:
        response = read_response(connection, is_head=False)

    assert json.loads(response.body)["message"] == "The request body is not valid JSON: line 1, column 2"


def test_a_form_of_the_admin_is_read(small_stack: Stack) -> None:
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    url = small_stack.url("/admin/login/")
    with browser.open(url, timeout=60) as page:
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.read().decode())
    assert token

    form = {"csrfmiddlewaretoken": token[1], "username": "nobody@example.com", "password": "wrong"}
    with browser.open(url, urllib.parse.urlencode(form).encode(), timeout=60) as page:
        text = page.read().decode()

    # A form that was not read would be a 403 for its missing token.
    assert "Please enter the correct e-mail and password" in text


def test_what_was_sent_of_a_body_before_the_client_disconnected_is_not_booked(
    small_stack: Stack, api: ApiClient, organization: Organization, measurements: dict[str, str]
) -> None:
    count_inputs(measurements, COUNTED_AS, 1)
    before = snapshot_of(organization)
    head = RawHttpClient(small_stack.port, api.key or "").build_request(CREATE, UNFINISHED, JSON)

    with open_connections(small_stack.port, ATTACKER, 1, head + json.dumps(booking_payload()).encode()):
        time.sleep(0.5)
    time.sleep(1)

    assert snapshot_of(organization) == before


def worker_memory(stack: Stack) -> int:
    """Return the resident memory of the web server's processes, in bytes."""
    main = psutil.Process(stack.processes["web"].pid)
    return sum(process.memory_info().rss for process in main.children(recursive=True))


def stalled_body(raw: RawHttpClient) -> bytes:
    """Return a request whose body lacks its last byte."""
    return raw.build_request(CREATE, UNFINISHED, JSON) + b" " * (MIB - 2)


def test_the_bodies_of_one_client_take_16_mib_and_the_others_are_served(
    small_stack: Stack, api: ApiClient, organization: Organization, measurements: dict[str, str]
) -> None:
    count_inputs(measurements, COUNTED_AS, 40)
    key = api.key or ""
    body = json.dumps(booking_payload()).encode()

    with open_connections(small_stack.port, ATTACKER, 40, stalled_body(RawHttpClient(small_stack.port, key))) as sent:
        wait_for(lambda: sum(not is_open(connection) for connection in sent) >= 24)
        stalled = sum(is_open(connection) for connection in sent)
        other = request_from(OTHER_CLIENT, small_stack.port, CREATE, key, body)[0]

    assert 0 < stalled <= 16
    assert other == 201
    wait_for(lambda: request_from(ATTACKER, small_stack.port, CREATE, key, body)[0] == 200)
    assert summary_of(organization)["appointments"] == 1


@pytest.mark.parametrize(("organizations", "limit"), [(0, 32), (1, 16), (6, 64)])
def test_all_bodies_together_take_64_mib_those_of_an_organization_16_and_everything_else_is_served(
    small_stack: Stack,
    api: ApiClient,
    organization: Organization,
    measurements: dict[str, str],
    organizations: int,
    limit: int,
) -> None:
    addresses = [f"127.0.0.{number}" for number in range(11, 17)]
    count_inputs(measurements, COUNTED_AS, 20 * len(addresses))
    key = api.key or ""
    keys = [key, *(make_api(make_organization(f"Number {number}")).key or "" for number in range(organizations - 1))]
    if organizations:
        for known in keys:
            request_from(OTHER_CLIENT, small_stack.port, f"GET {LIST}", known)
    before, memory = snapshot_of(organization), worker_memory(small_stack)

    with contextlib.ExitStack() as exit_stack:
        sent = [
            connection
            for number, address in enumerate(addresses)
            for connection in exit_stack.enter_context(
                open_connections(
                    small_stack.port,
                    address,
                    20,
                    stalled_body(RawHttpClient(small_stack.port, keys[number % len(keys)])),
                )
            )
        ]
        wait_for(lambda: sum(is_open(connection) for connection in sent) <= limit)
        growth = worker_memory(small_stack) - memory
        reads = [request_from(OTHER_CLIENT, small_stack.port, f"GET {path}", key)[0] for path in ("/readyz", LIST)]
        refusals = [read_response(connection, is_head=False) for connection in sent if not is_open(connection)]

    assert len(refusals) >= len(sent) - limit
    # A refused client may see a reset before it has read the response.
    # Of strangers, the body that has been waiting longest is given up for a new one.
    assert {refusal.status_code for refusal in refusals} <= ({503, 0} if organizations else {503, 408, 0})
    assert {refusal.body for refusal in refusals if refusal.status_code == 503} <= {
        b'{"status":"error","message":"The service is briefly unavailable; send the request again"}'
    }
    assert reads == [200, 200]
    assert growth < 160 * MIB
    assert snapshot_of(organization) == before


UPLOAD = "POST /admin/leads/import/add/"
UPLOADED = 10 * MIB + 60_000
# What one member sends and never completes: large files, and ever smaller parts that would fill the rest.
SENT = [UPLOADED - 65_536] * 12 + [MIB] * 40 + [MIB // 8] * 40 + [MIB // 64] * 40 + [2048] * 60 + [20] * 60


def test_stalled_uploads_of_a_member_leave_room_for_the_small_bodies_of_all_others(
    small_stack: Stack, api: ApiClient, organization: Organization, measurements: dict[str, str]
) -> None:
    count_inputs(measurements, COUNTED_AS, len(SENT))
    member = session_of(owner_of(make_organization("Globex")))
    key, unknown_key = api.key or "", make_api(make_organization("Initech")).key or ""
    port, body = small_stack.port, json.dumps(booking_payload()).encode()
    cookie = f"Cookie: sessionid={member}"
    page = urllib.request.Request(small_stack.url("/admin/"), headers={"Cookie": f"sessionid={member}"})
    with small_stack.open(page):
        request_from(OTHER_CLIENT, port, f"GET {LIST}", key)  # from now on the process knows the session and the key
    head = RawHttpClient(port, "").build_request(
        UPLOAD, cookie, f"Content-Length: {UPLOADED}", "Content-Type: multipart/form-data; boundary=x"
    )

    with contextlib.ExitStack() as exit_stack:
        for number, size in enumerate(SENT):
            address = f"127.0.0.{number % 8 + 21}"
            exit_stack.enter_context(open_connections(port, address, 1, head + b"a" * size))
        codes = [request_from(OTHER_CLIENT, port, CREATE, key, body)[0] for _ in range(3)]
        codes += [request_from("127.0.0.31", port, CREATE, unknown_key, body)[0] for _ in range(3)]
        sign_in, _ = request_from("127.0.0.32", port, "POST /admin/login/", body=b"username=a&password=b")

    assert codes == [201, 200, 200] * 2
    assert sign_in == 200  # the page says that it is stale


def test_stalled_bodies_of_strangers_leave_room_for_a_sign_in_and_a_key_that_is_new_to_the_process(
    small_stack: Stack, organization: Organization, measurements: dict[str, str]
) -> None:
    sizes = [*SENT[:92], *[60_000] * 120, *[20_000] * 100, *[2000] * 100, *[200] * 100, *[20] * 100]
    count_inputs(measurements, COUNTED_AS, len(sizes))
    unknown_keys = [make_api(make_organization(name)).key or "" for name in ("Hooli", "Umbrella")]
    port, body = small_stack.port, json.dumps(booking_payload()).encode()
    fields = (f"Content-Length: {UPLOADED}", "Content-Type: multipart/form-data; boundary=x")
    head = RawHttpClient(port, "").build_request(UPLOAD, "Cookie: sessionid=x", *fields)

    with contextlib.ExitStack() as exit_stack:
        for number, size in enumerate(sizes):
            address = f"127.0.0.{number % 8 + 41}"
            exit_stack.enter_context(open_connections(port, address, 1, head + b"a" * size))
        codes = [request_from("127.0.0.51", port, CREATE, key, body)[0] for key in unknown_keys]
        sign_in, _ = request_from("127.0.0.52", port, "POST /admin/login/", body=b"username=a&password=b")

    assert codes == [201, 201]
    assert sign_in == 200  # the page says that it is stale


def fill(exit_stack: contextlib.ExitStack, port: int, addresses: Sequence[str], head: bytes) -> int:
    """Send bodies that don't end, of ever smaller sizes, each until one is refused; return how many were sent."""
    count = 0
    for size in (UPLOADED - 65_536, MIB, MIB // 8, 60_000, 20_000, 2_000, 200, 20):
        for _ in range(25):
            address, count = addresses[count % len(addresses)], count + 1
            [connection] = exit_stack.enter_context(open_connections(port, address, 1, head + b"a" * size))
            time.sleep(0.02)
            if not is_open(connection):
                break
    return count


def test_stalled_bodies_of_strangers_leave_room_for_others_at_their_address(
    small_stack: Stack, api: ApiClient, organization: Organization, measurements: dict[str, str]
) -> None:
    key, unknown_key = api.key or "", make_api(make_organization("Vandelay")).key or ""
    port, body, address = small_stack.port, json.dumps(booking_payload()).encode(), "127.0.0.61"
    fields = (f"Content-Length: {UPLOADED}", "Content-Type: multipart/form-data; boundary=x")
    head = RawHttpClient(port, "").build_request(UPLOAD, "Cookie: sessionid=x", *fields)
    request_from(OTHER_CLIENT, port, f"GET {LIST}", key)  # from now on the process knows the key

    with contextlib.ExitStack() as exit_stack:
        count_inputs(measurements, COUNTED_AS, fill(exit_stack, port, [address], head))
        codes = [request_from(address, port, CREATE, each, body)[0] for each in (key, unknown_key)]
        sign_in, _ = request_from(address, port, "POST /admin/login/", body=b"username=a&password=b")

    assert codes == [201, 201]
    assert sign_in == 200  # the page says that it is stale


def browser_of(user: User) -> str:
    """Return the cookie of a browser in which the user has signed in."""
    response = HttpResponse()
    remember_browser(RequestFactory().get("/"), user, response)
    return f"{COOKIE}={response.cookies[COOKIE].value}"


def test_stalled_bodies_in_a_known_browser_leave_room_for_other_known_browsers(
    small_stack: Stack, organization: Organization, measurements: dict[str, str]
) -> None:
    port = small_stack.port
    attacker, other = (browser_of(make_member(organization, f"{name}@acme.example").user) for name in ("al", "bo"))
    fields = (f"Content-Length: {UPLOADED}", "Content-Type: multipart/form-data; boundary=x")
    head = RawHttpClient(port, "").build_request(UPLOAD, f"Cookie: sessionid=x; {attacker}", *fields)

    with contextlib.ExitStack() as exit_stack:
        addresses = [f"127.0.0.{number}" for number in range(71, 79)]
        count_inputs(measurements, COUNTED_AS, fill(exit_stack, port, addresses, head))
        form = f"Cookie: {other}", "Content-Length: 21", "Content-Type: application/x-www-form-urlencoded"
        request = RawHttpClient(port, "").build_request("POST /admin/login/", *form) + b"username=a&password=b"
        with open_connections(port, "127.0.0.81", 1, request) as [connection]:
            sign_in = read_response(connection, is_head=False).status_code

    assert sign_in == 200
