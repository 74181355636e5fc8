"""What needs the real web server: A7, A8, A10, F6, F7, F23, F38, F39 and C9 of the catalogue.

What the server refuses before the application sees it is a 400, 413, 414 or 431 without a body: never a 5xx, never HTML.
"""

import contextlib
import json
import select
import socket
from collections.abc import Iterator

import pytest

from appointments.models import Appointment
from organizations.models import Organization
from tests.client import ApiClient, booking_payload
from tests.factories import snapshot_of, summary_of
from tests.faults.stack import Stack, wait_for
from tests.hostile.tally import tried
from tests.hostile.wire import PATIENCE, Wire, chunk, chunked, endless, take

MIB = 1024 * 1024
pytestmark = pytest.mark.django_db(transaction=True)
CREATE, LEADS = "POST /api/external/appointments", "GET /api/external/leads?email=a%40b.cd"


@pytest.fixture(scope="module")
def stack(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The web server and its Redis, for all tests here: none may harm it."""
    with Stack(tmp_path_factory.mktemp("server")) as stack:
        stack.settings |= {"RATE_LIMIT_PER_MINUTE": "100000", "FAILED_KEYS_PER_MINUTE": "100000", "BODY_SECONDS": "3"}
        stack.start("web")
        yield stack


@pytest.fixture
def wire(stack: Stack, api: ApiClient) -> Wire:
    assert api.key is not None
    return Wire(stack.port, api.key)


@pytest.fixture
def untouched(stack: Stack, organization: Organization, api: ApiClient) -> Iterator[None]:
    """Nothing is written meanwhile, and afterwards the server serves on."""
    before = snapshot_of(organization)
    yield
    assert snapshot_of(organization) == before
    assert stack.get("/api/external/statuses", api.key or "")[0] == 200


def test_what_is_no_http_is_refused_without_a_word(wire: Wire, untouched: None, measurements: dict[str, str]) -> None:
    body = json.dumps(booking_payload()).encode()
    get = [
        wire.request(LEADS, header)
        for header in (
            b"x-n: a\x00b",
            b"x n: a",
            b"nocolon",
            b": a",
            b"x-f: a\r\n b",
            b"x-n: a\rb",
            b"Content-Length: ten",
        )
    ]
    lines = [
        b"GET /api/\xff HTTP/1.1",
        b"GET /api/a b HTTP/1.1",
        b"GET /api/\x00 HTTP/1.1",
        b"GET /api/\x7f HTTP/1.1",
        b"GET /\r\n",
        b"GET / HTTP/3.0",
        b"\x16\x03\x01\x02\x00",
    ]
    lengths = [
        ["Content-Length: 3", "Content-Length: 4"],
        ["Content-Length: -1"],
        ["Content-Length: +5"],
        ["Content-Length: 9" + "9" * 30],
        ["Content-Length: 5, 6"],
    ]
    codings = [["Transfer-Encoding: gzip"], ["Transfer-Encoding: xchunked"], ["Transfer-Encoding: chunked, gzip"]]
    posts = [
        wire.request(CREATE, "Content-Type: application/json", *headers) + body for headers in [*lengths, *codings]
    ]
    bad = [*get, *(line + b"\r\nHost: localhost\r\n\r\n" for line in lines), *posts]
    tried(measurements, "on the wire", len(bad) + 3)

    replies = [wire.say(data) for data in bad]

    assert [(data[:40], reply.code) for data, reply in zip(bad, replies, strict=True) if reply.code != 400] == []
    assert {reply.body for reply in replies} == {b""}
    assert wire.say(wire.request(f"GET /api/{'a' * 70_000}")).code == 414
    assert wire.say(wire.request(LEADS, *["x-many: a"] * 2_000)).code == 431
    assert wire.say(wire.request(LEADS, f"x-long: {'a' * MIB}")).code in {400, 431}


ODD_HEADERS = {
    "100 kB": f"x-long: {'a' * 100_000}",
    "not ASCII": b"x-n: \xff\xfe",
    "a cookie of 80 kB": f"Cookie: {'a=b;' * 20_000}",
    "a cookie of nothing": "Cookie: =;;;a",
    "an id that is none": b"x-request-id: \xff",
    "an id that is long": f"x-request-id: {'a' * 5_000}",
    "another method": "X-HTTP-Method-Override: DELETE",
    "another address": "X-Forwarded-Host: evil.example",
    "a client that is none": "X-Forwarded-For: ';--",
    "an upgrade": "Upgrade: websocket",
    "h2c": "Upgrade: h2c\r\nHTTP2-Settings: x",
    "a range": "Range: bytes=0-0",
    "a wish for HTML": "Accept: text/html",
    "a wish for nothing": "Accept: ;q=x,,",
    "a language": "Accept-Language: , x-y-z;q=9",
    "a charset that is no text": "Content-Type: application/json; charset=rot13",
    "a charset that fails": "Content-Type: application/json; charset=undefined",
    "a charset of a path": "Content-Type: application/json; charset=../../x",
    "a parameter in no encoding": "Content-Type: application/json; x*=bogus''a",
    "a media type of 20 kB": f"Content-Type: {'a' * 20_000}",
    "a proxy": "Proxy: http://evil.example",
    "a length in an underscore": "content_length: 5",
    "conditions": 'If-None-Match: "\r\nIf-Modified-Since: never',
    "an expectation": "Expect: miracles",
}


def test_an_odd_header_changes_nothing(wire: Wire, untouched: None, measurements: dict[str, str]) -> None:
    tried(measurements, "on the wire", len(ODD_HEADERS))

    replies = {name: wire.say(wire.request(LEADS, header)) for name, header in ODD_HEADERS.items()}

    assert {name: (reply.code, reply.kind) for name, reply in replies.items()} == dict.fromkeys(
        ODD_HEADERS, (200, "application/json")
    )


KINDS = {
    "charset=undefined": 201,
    "charset=utf-16": 201,
    "charset=" + "u" * 9_000: 201,
    "; ; ;": 201,
    'charset="': 201,
    "=": 201,
    "x*=bogus''a": 415,
}


def test_the_parameters_of_a_media_type_change_nothing_unless_they_make_no_sense(
    wire: Wire, api: ApiClient, measurements: dict[str, str]
) -> None:
    tried(measurements, "on the wire", len(KINDS) + 1)
    codes = {}

    for number, kind in enumerate(KINDS):
        body = json.dumps(booking_payload(external_reference=f"ref-{number}")).encode()
        head = wire.request(CREATE, f"Content-Type: application/json;{kind}", f"Content-Length: {len(body)}")
        codes[kind] = wire.say(head + body).code
    many = wire.say(
        wire.request(f"GET /api/external/leads?{'&' * 2_000}", "Content-Type: application/json; charset=utf-8")
    )

    assert codes == KINDS
    assert (many.code, many.kind) == (400, "application/json")


def test_what_names_no_key_or_another_host_is_refused_in_json(
    wire: Wire, untouched: None, measurements: dict[str, str]
) -> None:
    without_host = wire.request(LEADS).replace(b"Host: localhost\r\n", b"")
    refused = {
        without_host: 400,
        without_host.replace(b"HTTP/1.1", b"HTTP/1.0"): 400,
        wire.request(LEADS, "Host: localhost"): 400,
        wire.request(LEADS).replace(b"localhost", b"evil.example"): 400,
        wire.request(LEADS).replace(b"localhost", b"localhost\xff"): 400,
        wire.request(LEADS, f"x-api-key: {wire.key}"): 401,
        wire.request(LEADS, key=f"{wire.key},{wire.key}"): 401,
        wire.request(LEADS, key="k" * 100_000): 401,
        wire.request(LEADS, key=""): 401,
        wire.request(LEADS).replace(wire.key.encode(), b"\xff"): 401,
        wire.request(f"GET /api/external/leads?x-api-key={wire.key}", key="") : 401,
        wire.request("GET /api/nothing", key="no"): 401,
        wire.request("BREW /api/external/leads", key="no"): 401,
    }  # fmt: skip
    tried(measurements, "on the wire", len(refused))

    replies = {data: wire.say(data) for data in refused}

    assert {data: (reply.code, reply.kind) for data, reply in replies.items()} == {
        data: (code, "application/json") for data, code in refused.items()
    }


METHODS = {"HEAD": 200, "OPTIONS": 405, "TRACE": 405, "PUT": 405, "DELETE": 405, "PURGE": 405, "A" * 300: 405}
PATHS = [
    "/api/%F0%9F%8E%89",
    "/api/\U0001f389",
    "/api/%ff",
    "/api/%00",
    "/api/../healthz",
    "/api/%2e%2e/healthz",
    "/api//external/statuses",
    "/api/external/statuses%2f",
]
PATHS += ["/api/%zz", "/api/external/statuses;a=b", "/api/external/../external/statuses", "/api/external/leads/%c0%af"]


def test_odd_methods_and_paths_are_answered_in_json(wire: Wire, untouched: None, measurements: dict[str, str]) -> None:
    tried(measurements, "on the wire", len(METHODS) + len(PATHS))

    methods = {method: wire.say(wire.request(f"{method} /api/external/statuses")) for method in METHODS}
    paths = {path: wire.say(wire.request(f"GET {path}")) for path in PATHS}

    assert {method: (reply.code, reply.kind) for method, reply in methods.items()} == {
        method: (code, "application/json") for method, code in METHODS.items()
    }
    assert {path: (reply.code, reply.kind) for path, reply in paths.items()} == dict.fromkeys(
        PATHS, (404, "application/json")
    )


def test_http_1_0_books_too(wire: Wire) -> None:
    assert wire.say(wire.request(CREATE, body=json.dumps(booking_payload()).encode(), version="1.0")).code == 201


def test_a_body_without_a_length_is_read_to_the_limit(
    wire: Wire, organization: Organization, measurements: dict[str, str]
) -> None:
    head = wire.request(CREATE, "Content-Type: application/json", "Transfer-Encoding: chunked")
    body = json.dumps(booking_payload()).encode()
    over = [
        head + chunked(body.ljust(MIB + 1)),
        endless(head, chunk(b" " * 65_536)),
        endless(head + b"7fffffff\r\n", b" " * 65_536),
        head.replace(b"Transfer-Encoding: chunked", b"Content-Length: 10000000000") + b"{",
    ]
    tried(measurements, "on the wire", len(over))

    replies = [wire.say(data) for data in over]

    assert [(reply.code, json.loads(reply.body or b"{}").get("message")) for reply in replies] == [
        (413, "The request body is larger than 1 MiB")
    ] * len(over)
    assert summary_of(organization)["appointments"] == 0
    assert wire.say(head + chunked(body[:9], body[9:].ljust(MIB - 9))).code == 201
    assert wire.say(head + chunked()).code == 400


def test_a_stranger_is_refused_before_the_body_is_waited_for(
    wire: Wire, untouched: None, measurements: dict[str, str]
) -> None:
    tried(measurements, "on the wire", 2)

    for unfinished in ["Transfer-Encoding: chunked", "Content-Length: 500"]:
        assert wire.say(wire.request(CREATE, "Content-Type: application/json", unfinished, key="no")).code == 401


def test_clients_that_announce_a_body_and_stall_hold_up_nobody_and_are_told(
    stack: Stack, wire: Wire, untouched: None, measurements: dict[str, str]
) -> None:
    """Three times as many as the server has threads, with a key, and as strangers at the sign-in."""
    unfinished = "Content-Length: 500", "Content-Type: application/json"
    stalled = [wire.request(CREATE, *unfinished), wire.request("POST /admin/login/", *unfinished, key="no")] * 6
    tried(measurements, "on the wire", len(stalled))

    with contextlib.ExitStack() as hanging:
        lines = [
            hanging.enter_context(socket.create_connection(("127.0.0.1", stack.port), timeout=PATIENCE))
            for _ in stalled
        ]
        for line, data in zip(lines, stalled, strict=True):
            line.sendall(data + b"{")
        served = [wire.say(wire.request(LEADS)).code for _ in range(12)]
        stay = select.select(lines, [], [], 0)[0] == []
        replies = [take(line, is_head=False) for line in lines]

    assert (served, stay) == ([200] * 12, True)
    assert [(reply.code, reply.kind) for reply in replies] == [(408, "application/json")] * len(stalled)


def test_what_follows_a_body_is_no_request_of_its_own(
    wire: Wire, untouched: None, measurements: dict[str, str]
) -> None:
    """One answer for each: neither of two lengths lets a second request be smuggled in."""
    hidden = wire.request("GET /healthz")
    both = ["Content-Type: application/json", "Content-Length: 4", "Transfer-Encoding: chunked"]
    sent = [
        wire.request(CREATE, *both) + chunked(b"{}") + hidden,
        wire.request(CREATE, *both[::-1]) + chunked(b"{}") + hidden,
        wire.request(CREATE, key="no", body=hidden),
        wire.request(LEADS, body=hidden),
    ]
    tried(measurements, "on the wire", len(sent))

    replies = [wire.say(data) for data in sent]

    assert [(reply.code, reply.is_last) for reply in replies] == [(400, True), (400, True), (401, True), (200, True)]


def test_of_a_client_that_hangs_up_everything_or_nothing_is_written(
    wire: Wire, api: ApiClient, organization: Organization, measurements: dict[str, str]
) -> None:
    """And a retry tells which: 201 or 200, and one booking of each reference (C9, C10)."""
    bodies = [
        json.dumps(
            booking_payload(external_reference=f"ref-{number}", lead_email=f"lead-{number}@example.com")
        ).encode()
        for number in range(12)
    ]
    whole = [wire.request(CREATE, body=body) for body in bodies]
    tried(measurements, "on the wire", len(whole))

    for number, data in enumerate(whole):
        wire.hang_up_after(data if number % 2 else data[: -len(bodies[number]) // (number + 1)])
    codes = [wire.say(data).code for data in whole]

    assert set(codes) <= {200, 201}
    wait_for(lambda: Appointment.objects.of(organization).count() == len(whole), seconds=10)
    found = summary_of(organization)
    assert (found["leads"], found["events"].count("appointment.created"), len(found["notifications"])) == (
        len(whole),
    ) * 3


def test_nothing_of_a_client_gets_raw_into_the_log(stack: Stack, wire: Wire, measurements: dict[str, str]) -> None:
    escape, odd = "\x1b[31m", "%1b%5b31m%0aERROR%20forged"
    requests: list[bytes] = [
        wire.request(LEADS, f"x-request-id: {escape}"),
        wire.request(LEADS, f"x-api-key: {escape}", f"User-Agent: {escape}", f"Referer: {escape}"),
        wire.request(LEADS).replace(b"localhost", odd.encode()),
        *(
            wire.request(f"{method} {path}")
            for method in ("GET", "POST")
            for path in (f"/api/{odd}", f"/{odd}", f"/admin/{odd}", f"/static/{odd}", f"/api/docs?{odd}")
        ),
        wire.request(
            CREATE,
            body=json.dumps(
                booking_payload(external_reference=f"{escape}\nERROR forged", notes=f"{escape}\nERROR forged")
            ).encode(),
        ),
        wire.request(CREATE, body=f'{{"{escape}": 1, "{escape}": 2}}'.encode()),
    ]
    tried(measurements, "on the wire", len(requests))

    codes = [wire.say(data).code for data in requests]

    assert all(100 < code < 500 for code in codes)
    log = (stack.folder / "web.log").read_text()
    assert "\x1b" not in log
    assert [line for line in log.splitlines() if line.startswith("ERROR forged")] == []
