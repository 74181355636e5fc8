"""Requests that only the real web server can refuse (docs/guarantees.md, A7, A8, A10, F6, F7, F23, F38, F39, C9).

What the server refuses before the application runs is a 400, 413 or 431 without a body: never a 5xx or HTML.
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
from tests.factories import owner_of, snapshot_of, summary_of
from tests.faults.stack import Stack, wait_for
from tests.hostile.input_counter import count_inputs
from tests.hostile.raw_http import RawHttpClient, RawResponse, chunk, chunked_body, read_response, unending_request
from tests.staff.pages import logged_in_client

MIB = 1024 * 1024
CREATE = "POST /api/external/appointments"
LEADS = "GET /api/external/leads?email=a%40b.cd"
JSON, TEXT = "application/json", "text/plain; charset=utf-8"
LONG_HEADER = "A header is too long: Content-Type may have 256 bytes, Accept-Encoding 512 and every other header 8,192"
COUNTED_AS = "raw requests"  # part of the measurement at the end of the run

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def stack(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Start the web server and its Redis once for all tests of this file: none of them may break it."""
    with Stack(tmp_path_factory.mktemp("server")) as stack:
        stack.settings["RATE_LIMIT_PER_MINUTE"] = "100000"
        stack.overrides |= {"FAILED_KEYS_PER_MINUTE": 100_000, "BODY_SECONDS": 3}
        stack.start("web")
        yield stack


@pytest.fixture
def raw(stack: Stack, api: ApiClient) -> RawHttpClient:
    """Return a client that sends raw bytes to the web server, with Acme's key."""
    assert api.key is not None
    return RawHttpClient(stack.port, api.key)


@pytest.fixture
def nothing_changes(stack: Stack, organization: Organization, api: ApiClient) -> Iterator[None]:
    """Assert that the test changes no row of the organization, and that the server still works afterwards."""
    before = snapshot_of(organization)
    yield
    assert snapshot_of(organization) == before
    assert stack.get("/api/external/statuses", api.key or "")[0] == 200


def code_and_type(response: RawResponse) -> tuple[int, str]:
    return response.status_code, response.content_type


MALFORMED_HEADERS = [
    b"x-n: a\x00b",
    b"x n: a",
    b"nocolon",
    b": a",
    b"x-f: a\r\n b",
    b"x-n: a\rb",
    b"Content-Length: ten",
]
MALFORMED_REQUEST_LINES = [
    b"GET /api/\xff HTTP/1.1",
    b"GET /api/a b HTTP/1.1",
    b"GET /api/\x00 HTTP/1.1",
    b"GET /api/\x7f HTTP/1.1",
    b"GET /\r\n",
    b"GET / HTTP/3.0",
    b"\x16\x03\x01\x02\x00",  # a TLS handshake
]
MALFORMED_FRAMING = [
    ["Content-Length: 3", "Content-Length: 4"],
    ["Content-Length: -1"],
    ["Content-Length: +5"],
    ["Content-Length: 9" + "9" * 30],
    ["Content-Length: 5, 6"],
    ["Transfer-Encoding: gzip"],
    ["Transfer-Encoding: xchunked"],
    ["Transfer-Encoding: chunked, gzip"],
]


def test_malformed_http_is_refused_without_a_body(
    raw: RawHttpClient, nothing_changes: None, measurements: dict[str, str]
) -> None:
    body = json.dumps(booking_payload()).encode()
    malformed = [
        *(raw.build_request(LEADS, header) for header in MALFORMED_HEADERS),
        *(line + b"\r\nHost: localhost\r\n\r\n" for line in MALFORMED_REQUEST_LINES),
        *(raw.build_request(CREATE, f"Content-Type: {JSON}", *headers) + body for headers in MALFORMED_FRAMING),
    ]
    count_inputs(measurements, COUNTED_AS, len(malformed) + 3)

    responses = [raw.send(data) for data in malformed]
    long_path = raw.send(raw.build_request(f"GET /api/{'a' * 70_000}"))
    many_headers = raw.send(raw.build_request(LEADS, *["x-many: a"] * 2_000))
    long_header = raw.send(raw.build_request(LEADS, f"x-long: {'a' * MIB}"))

    status_codes = [(data[:40], response.status_code) for data, response in zip(malformed, responses, strict=True)]
    assert [(data, status_code) for data, status_code in status_codes if status_code != 400] == []
    assert {response.body for response in responses} == {b""}
    assert long_path.status_code == 431
    assert many_headers.status_code == 431
    assert long_header.status_code in {400, 431}


BACKSLASH = "\\"
UNUSUAL_HEADERS = {
    "8 KiB": f"x-long: {'a' * 8_192}",
    "not ASCII": b"x-n: \xff\xfe",
    "cookies of 8 KiB": f"Cookie: {'a=b;' * 2_048}",
    "backslashes in a cookie": f'Cookie: a="{BACKSLASH * 8_188}"',
    "an empty cookie": "Cookie: =;;;a",
    "a request id that is not text": b"x-request-id: \xff",
    "a long request id": f"x-request-id: {'a' * 5_000}",
    "another method": "X-HTTP-Method-Override: DELETE",
    "a forwarded host": "X-Forwarded-Host: evil.example",
    "a forwarded client that is not an address": "X-Forwarded-For: ';--",
    "an upgrade": "Upgrade: websocket",
    "h2c": "Upgrade: h2c\r\nHTTP2-Settings: x",
    "a range": "Range: bytes=0-0",
    "a preference for HTML": "Accept: text/html",
    "a malformed Accept": "Accept: ;q=x,,",
    "a malformed language": "Accept-Language: , x-y-z;q=9",
    "a charset that is not an encoding": "Content-Type: application/json; charset=rot13",
    "a charset that fails": "Content-Type: application/json; charset=undefined",
    "a charset of a path": "Content-Type: application/json; charset=../../x",
    "a parameter in no encoding": "Content-Type: application/json; x*=bogus''a",
    "a media type of 256 B": f"Content-Type: {'a' * 256}",
    "codings of 512 B": f"Accept-Encoding: {',' * 512}",
    "a proxy": "Proxy: http://evil.example",
    "a length in an underscore": "content_length: 5",
    "conditions": 'If-None-Match: "\r\nIf-Modified-Since: never',
    "an expectation": "Expect: miracles",
}


def test_unusual_headers_change_nothing(
    raw: RawHttpClient, nothing_changes: None, measurements: dict[str, str]
) -> None:
    count_inputs(measurements, COUNTED_AS, len(UNUSUAL_HEADERS))

    responses = {name: raw.send(raw.build_request(LEADS, header)) for name, header in UNUSUAL_HEADERS.items()}

    assert {name: code_and_type(response) for name, response in responses.items()} == dict.fromkeys(
        UNUSUAL_HEADERS, (200, JSON)
    )


# Longer than any client sends them. Repeated headers count as one.
LONG_HEADERS = {
    "media type": f"Content-Type: {JSON}{';a=b' * 61}",
    "codings": f"Accept-Encoding: {',' * 513}",
    "cookies": f"Cookie: {'a=b;' * 2_049}",
    "backslashes in a cookie": f'Cookie: a="{BACKSLASH * 8_190}"',
    "repeated cookies": "\r\n".join([f"Cookie: {'a=b;' * 1_024}"] * 2),
    "repeated codings": "\r\n".join(["Accept-Encoding: gzip, deflate, br, zstd"] * 25),
    "forwarded addresses": f"X-Forwarded-For: {',' * 8_193}",
    "another": f"x-long: {'a' * 8_193}",
}
PAGE_PATHS = "/", "/admin/", "/admin/login/", "/static/none.css", "/healthz"


@pytest.mark.parametrize("header", LONG_HEADERS.values(), ids=LONG_HEADERS)
def test_a_header_that_is_longer_than_any_client_sends_is_431(
    raw: RawHttpClient, header: str, nothing_changes: None, measurements: dict[str, str]
) -> None:
    body = json.dumps(booking_payload()).encode()
    booking = raw.build_request(CREATE, header, f"Content-Length: {len(body)}") + body
    count_inputs(measurements, COUNTED_AS, 2 + len(PAGE_PATHS))

    api = [raw.send(booking), raw.send(raw.build_request("GET /api/nothing", header, key=""))]
    pages = [raw.send(raw.build_request(f"GET {path}", header, key="")) for path in PAGE_PATHS]

    assert [code_and_type(response) for response in api] == [(431, JSON)] * 2
    assert all(json.loads(response.body) == {"status": "error", "message": LONG_HEADER} for response in api)
    assert {code_and_type(response) for response in pages} == {(431, TEXT)}
    assert api[0].is_last  # the body, which isn't read, is no second request


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("Idempotency-Key: cl\u00e9-1", "Idempotency-Key"),
        ('If-Match: "2020-01-01T00:00:00.000Z\u00e9"', "If-Match"),
        ("Cookie: theme=caf\u00e9", "Cookie"),
    ],
)
def test_a_header_that_cannot_be_read_is_refused_instead_of_left_out(
    raw: RawHttpClient, header: str, name: str, nothing_changes: None
) -> None:
    """docs/interface.md, G48, G57"""
    body = json.dumps(booking_payload()).encode()

    api = raw.send(raw.build_request(CREATE, header, f"Content-Length: {len(body)}") + body)
    page = raw.send(raw.build_request("GET /admin/", header, key=""))
    other = raw.send(raw.build_request("GET /api/external/statuses", "Referer: caf\u00e9"))

    assert code_and_type(api) == (400, JSON)
    assert json.loads(api.body)["message"] == f"The header {name} must have ASCII characters only"
    assert code_and_type(page) == (400, TEXT)
    assert other.status_code == 200


def test_a_browser_with_many_other_cookies_is_signed_in(raw: RawHttpClient, organization: Organization) -> None:
    session = logged_in_client(owner_of(organization)).cookies["sessionid"].value
    others = [f'_ga_{number}="GS1.1.{BACKSLASH}054{BACKSLASH}"1760000000.{number}"' for number in range(100)]
    cookies = "; ".join([*others, f"sessionid={session}", *others])
    browser = [
        f"Cookie: {cookies}",
        "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,"
        "application/signed-exchange;v=b3;q=0.7",
        "Accept-Encoding: gzip, deflate, br, zstd",
        f"Referer: http://localhost/admin/leads/lead/?q={'a' * 4_000}",
        f"User-Agent: Mozilla/5.0 (X11; Linux x86_64) {'a' * 300}",
    ]

    assert 7_000 < len(cookies) <= 8_192
    assert raw.send(raw.build_request("GET /admin/leads/lead/", *browser, key="")).status_code == 200


# Expected status codes.
MEDIA_TYPE_PARAMETERS = {
    "charset=undefined": 201,
    "charset=utf-16": 201,
    "charset=" + "u" * 200: 201,
    "; ; ;": 201,
    'charset="': 201,
    "=": 201,
    "x*=bogus''a": 415,
}


def test_media_type_parameters_are_ignored_unless_they_cannot_be_decoded(
    raw: RawHttpClient, api: ApiClient, measurements: dict[str, str]
) -> None:
    count_inputs(measurements, COUNTED_AS, len(MEDIA_TYPE_PARAMETERS) + 1)

    status_codes = {}
    for number, parameters in enumerate(MEDIA_TYPE_PARAMETERS):
        body = json.dumps(booking_payload(external_reference=f"ref-{number}")).encode()
        head = raw.build_request(CREATE, f"Content-Type: {JSON};{parameters}", f"Content-Length: {len(body)}")
        status_codes[parameters] = raw.send(head + body).status_code
    too_many_query_parameters = raw.send(
        raw.build_request(f"GET /api/external/leads?{'&' * 2_000}", f"Content-Type: {JSON}; charset=utf-8")
    )

    assert status_codes == MEDIA_TYPE_PARAMETERS
    assert code_and_type(too_many_query_parameters) == (400, JSON)


def test_a_wrong_key_or_host_is_refused_in_json(
    raw: RawHttpClient, nothing_changes: None, measurements: dict[str, str]
) -> None:
    valid = raw.build_request(LEADS)
    without_host = valid.replace(b"Host: localhost\r\n", b"")
    refused = {
        without_host: 400,
        without_host.replace(b"HTTP/1.1", b"HTTP/1.0"): 400,
        raw.build_request(LEADS, "Host: localhost"): 400,  # two of them
        valid.replace(b"localhost", b"evil.example"): 400,
        valid.replace(b"localhost", b"localhost\xff"): 400,
        raw.build_request(LEADS, f"x-api-key: {raw.key}"): 401,  # two of them
        raw.build_request(LEADS, key=f"{raw.key},{raw.key}"): 401,
        raw.build_request(LEADS, key="k" * 8_192): 401,
        raw.build_request(LEADS, key=""): 401,
        valid.replace(raw.key.encode(), b"\xff"): 401,
        raw.build_request(f"GET /api/external/leads?x-api-key={raw.key}", key=""): 401,
        raw.build_request("GET /api/nothing", key="no"): 401,
        raw.build_request("BREW /api/external/leads", key="no"): 401,
    }
    count_inputs(measurements, COUNTED_AS, len(refused))

    responses = {data: raw.send(data) for data in refused}

    assert {data: code_and_type(response) for data, response in responses.items()} == {
        data: (status_code, JSON) for data, status_code in refused.items()
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
    "/api/%zz",
    "/api/external/statuses;a=b",
    "/api/external/../external/statuses",
    "/api/external/leads/%c0%af",
]


def test_unusual_methods_and_paths_get_json_responses(
    raw: RawHttpClient, nothing_changes: None, measurements: dict[str, str]
) -> None:
    count_inputs(measurements, COUNTED_AS, len(METHODS) + len(PATHS))

    by_method = {method: raw.send(raw.build_request(f"{method} /api/external/statuses")) for method in METHODS}
    by_path = {path: raw.send(raw.build_request(f"GET {path}")) for path in PATHS}

    assert {method: code_and_type(response) for method, response in by_method.items()} == {
        method: (status_code, JSON) for method, status_code in METHODS.items()
    }
    assert {path: code_and_type(response) for path, response in by_path.items()} == dict.fromkeys(PATHS, (404, JSON))


def test_a_header_name_with_an_underscore_is_no_other_header(
    raw: RawHttpClient, nothing_changes: None, measurements: dict[str, str]
) -> None:
    count_inputs(measurements, COUNTED_AS, 1)

    response = raw.send(raw.build_request(LEADS, f"x_api_key: {raw.key}", key=""))

    assert response.status_code == 401


def test_http_1_0_works(raw: RawHttpClient) -> None:
    request = raw.build_request(CREATE, body=json.dumps(booking_payload()).encode(), version="1.0")

    assert raw.send(request).status_code == 201


def test_a_body_without_a_length_is_read_up_to_the_limit(
    raw: RawHttpClient, organization: Organization, measurements: dict[str, str]
) -> None:
    head = raw.build_request(CREATE, f"Content-Type: {JSON}", "Transfer-Encoding: chunked")
    body = json.dumps(booking_payload()).encode()
    too_large = [
        head + chunked_body(body.ljust(MIB + 1)),
        unending_request(head, chunk(b" " * 65_536)),
        unending_request(head + b"7fffffff\r\n", b" " * 65_536),  # one chunk of 2 GiB
        head.replace(b"Transfer-Encoding: chunked", b"Content-Length: 10000000000") + b"{",
    ]
    count_inputs(measurements, COUNTED_AS, len(too_large))

    responses = [raw.send(data) for data in too_large]

    assert [(response.status_code, json.loads(response.body or b"{}").get("message")) for response in responses] == [
        (413, "The request body is larger than 1 MiB")
    ] * len(too_large)
    assert summary_of(organization)["appointments"] == 0
    # A body of exactly the limit is accepted, and an empty one is read as such.
    assert raw.send(head + chunked_body(body[:9], body[9:].ljust(MIB - 9))).status_code == 201
    assert raw.send(head + chunked_body()).status_code == 400


@pytest.mark.parametrize("end", [b"", b"5\r\nab", b"ZZ\r\n\r\n", b"FFFFFFFFFFFFFFFFF\r\n", b"0\r\n\r\n"])
def test_a_form_without_a_length_is_411_because_it_could_be_cut_off(
    raw: RawHttpClient, nothing_changes: None, measurements: dict[str, str], end: bytes
) -> None:
    count_inputs(measurements, COUNTED_AS, 1)
    form = "Content-Type: application/x-www-form-urlencoded"
    head = raw.build_request("POST /admin/login/", form, "Transfer-Encoding: chunked", key="")

    with raw.connect() as connection:
        connection.sendall(head + chunk(b"username=ada%40exam") + end)
        connection.shutdown(socket.SHUT_WR)
        response = read_response(connection)

    # A server that refuses a request early may reset the connection before the response is read.
    assert (response.status_code, response.body) in [(411, b"Send this with a Content-Length."), (0, b"")]


def test_a_file_that_is_announced_as_too_large_is_said_to_be(raw: RawHttpClient, organization: Organization) -> None:
    """It isn't read, so its token is missing, too."""
    session = logged_in_client(owner_of(organization)).cookies["sessionid"].value
    form = "Content-Type: multipart/form-data; boundary=x", "Content-Length: 20000000"
    head = raw.build_request("POST /admin/leads/import/add/", f"Cookie: sessionid={session}", *form, key="")

    response = raw.send(head + b"--x\r\n")

    assert (response.status_code, b"more than 10 MB" in response.body) == (413, True)


@pytest.mark.parametrize("end", [b"", b"5\r\nab"])
def test_a_json_body_that_is_cut_off_is_400(
    raw: RawHttpClient, nothing_changes: None, measurements: dict[str, str], end: bytes
) -> None:
    count_inputs(measurements, COUNTED_AS, 1)
    head = raw.build_request(CREATE, f"Content-Type: {JSON}", "Transfer-Encoding: chunked")

    with raw.connect() as connection:
        connection.sendall(head + chunk(json.dumps(booking_payload()).encode()[:-1]) + end)
        connection.shutdown(socket.SHUT_WR)
        response = read_response(connection)

    assert response.status_code == 400


def test_a_wrong_key_is_refused_before_the_body_arrives(
    raw: RawHttpClient, nothing_changes: None, measurements: dict[str, str]
) -> None:
    count_inputs(measurements, COUNTED_AS, 2)

    for framing in ["Transfer-Encoding: chunked", "Content-Length: 500"]:
        response = raw.send(raw.build_request(CREATE, f"Content-Type: {JSON}", framing, key="no"))

        assert response.status_code == 401


def test_clients_that_stall_in_the_body_delay_nobody_and_get_408(
    stack: Stack, raw: RawHttpClient, nothing_changes: None, measurements: dict[str, str]
) -> None:
    """There are three times as many as the server has threads: with a key, and without one at the login page.

    A file, which may be larger, has more time.
    """
    headers = "Content-Length: 500", f"Content-Type: {JSON}"
    upload = raw.build_request("POST /admin/leads/import/add/", *headers, "Cookie: sessionid=unknown", key="no")
    stalling = [raw.build_request(CREATE, *headers), raw.build_request("POST /admin/login/", *headers, key="no")] * 6
    count_inputs(measurements, COUNTED_AS, len(stalling))

    with contextlib.ExitStack() as open_connections:
        connections = [open_connections.enter_context(raw.connect()) for _ in stalling]
        uploading = open_connections.enter_context(raw.connect())
        uploading.sendall(upload + b"{")
        for connection, data in zip(connections, stalling, strict=True):
            connection.sendall(data + b"{")
        served = [raw.send(raw.build_request(LEADS)).status_code for _ in range(12)]
        # The others were served while all of these were still waiting.
        still_waiting = select.select(connections, [], [], 0)[0] == []
        responses = [read_response(connection) for connection in connections]
        uploading.sendall(b" " * 499)
        uploaded = read_response(uploading)

    assert (served, still_waiting) == ([200] * 12, True)
    assert [code_and_type(response) for response in responses] == [(408, JSON), (408, TEXT)] * 6
    assert b"a large file in parts" in responses[1].body
    assert uploaded.status_code == 403, "a form without its token, which was read"


def test_bytes_after_a_body_are_not_read_as_a_second_request(
    raw: RawHttpClient, nothing_changes: None, measurements: dict[str, str]
) -> None:
    """Each request gets one response: two contradictory lengths can't smuggle a second request in."""
    smuggled = raw.build_request("GET /healthz")
    both_lengths = [f"Content-Type: {JSON}", "Content-Length: 4", "Transfer-Encoding: chunked"]
    requests = [
        raw.build_request(CREATE, *both_lengths) + chunked_body(b"{}") + smuggled,
        raw.build_request(CREATE, *both_lengths[::-1]) + chunked_body(b"{}") + smuggled,
        raw.build_request(CREATE, key="no", body=smuggled),
        raw.build_request(LEADS, body=smuggled),
    ]
    count_inputs(measurements, COUNTED_AS, len(requests))

    responses = [raw.send(data) for data in requests]

    assert [(response.status_code, response.is_last) for response in responses] == [
        (400, True),
        (400, True),
        (401, True),
        (200, True),
    ]


def test_a_booking_of_a_client_that_disconnects_is_stored_completely_or_not_at_all(
    raw: RawHttpClient, organization: Organization, measurements: dict[str, str]
) -> None:
    """A retry shows which (201 or 200), and leads to one booking of each reference (docs/guarantees.md, C9, C10)."""
    bodies = [
        json.dumps(
            booking_payload(external_reference=f"ref-{number}", lead_email=f"lead-{number}@example.com")
        ).encode()
        for number in range(12)
    ]
    requests = [raw.build_request(CREATE, body=body) for body in bodies]
    count_inputs(measurements, COUNTED_AS, len(requests))

    # Every second client disconnects after the whole request, the others after a part of the body.
    for number, data in enumerate(requests):
        raw.send_and_reset(data if number % 2 else data[: -len(bodies[number]) // (number + 1)])
    status_codes = {raw.send(data).status_code for data in requests}

    assert status_codes <= {200, 201}
    wait_for(lambda: Appointment.objects.of(organization).count() == len(requests))
    summary = summary_of(organization)
    created_events = summary["events"].count("appointment.created")
    assert (summary["leads"], created_events, len(summary["notifications"])) == (len(requests),) * 3


def test_nothing_from_a_client_is_logged_unescaped(
    stack: Stack, raw: RawHttpClient, measurements: dict[str, str]
) -> None:
    escape, encoded = "\x1b[31m", "%1b%5b31m%0aERROR%20forged"
    forged = f"{escape}\nERROR forged"
    paths = [f"/api/{encoded}", f"/{encoded}", f"/admin/{encoded}", f"/static/{encoded}", f"/api/docs?{encoded}"]
    booking = json.dumps(booking_payload(external_reference=forged, notes=forged)).encode()
    requests: list[bytes] = [
        raw.build_request(LEADS, f"x-request-id: {escape}"),
        raw.build_request(LEADS, f"x-api-key: {escape}", f"User-Agent: {escape}", f"Referer: {escape}"),
        raw.build_request(LEADS).replace(b"localhost", encoded.encode()),
        *(raw.build_request(f"{method} {path}") for method in ("GET", "POST") for path in paths),
        raw.build_request(CREATE, body=booking),
        raw.build_request(CREATE, body=f'{{"{escape}": 1, "{escape}": 2}}'.encode()),
    ]
    count_inputs(measurements, COUNTED_AS, len(requests))

    status_codes = [raw.send(data).status_code for data in requests]

    assert all(100 < status_code < 500 for status_code in status_codes)
    log = (stack.folder / "web.log").read_text()
    assert "\x1b" not in log
    assert [line for line in log.splitlines() if line.startswith("ERROR forged")] == []
