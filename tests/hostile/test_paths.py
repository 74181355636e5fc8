"""Paths and methods (docs/guarantees.md, F37 and F38).

Other methods, trailing slashes and unknown paths are tested in tests/contract/test_errors.py.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.urls import get_resolver

from pipeline_backend.web.guides import PATHS
from tests.client import ApiClient
from tests.contract.assertions import assert_error
from tests.factories import snapshot_of
from tests.hostile.input_counter import count_inputs
from tests.hostile.openapi import UNKNOWN_ID, VALID_BODIES, operations
from tests.hostile.tenants import rolled_back

SendRequest = Callable[..., Any]

# A list and not a set: with parallel tests, each process must collect the same order.
UNDOCUMENTED_OPERATIONS = ["GET /api/schema", "GET /api/docs", *(f"GET /api/docs/{name}" for name in PATHS)]
# All of these get the response of an unknown id, which is among them.
INVALID_IDS = [
    "5",
    "0",
    "-1",
    "null",
    "undefined",
    "true",
    "%00",
    "%ff",
    "%20",
    "%2e%2e",
    "%2e",
    "..;",
    "a%00b",
    "%F0%9F%8E%89",
    "%ed%a0%80",
    "'",
    "%27%20OR%201=1",
    "<script>",
    "{id}",
    "$%7Bx%7D",
    UNKNOWN_ID.replace("-", ""),
    f"%7B{UNKNOWN_ID}%7D",
    f"urn:uuid:{UNKNOWN_ID}",
    f"{UNKNOWN_ID}0",
    UNKNOWN_ID[:-1],
    f"{UNKNOWN_ID}%0a",
    f"{UNKNOWN_ID}.json",
    "a" * 5000,
    UNKNOWN_ID,
    f"%20{UNKNOWN_ID}",
    f"{UNKNOWN_ID}%20",
    UNKNOWN_ID.replace("0", "%EF%BC%90", 1),
    f"{UNKNOWN_ID};a=b",
    "user_abc",
    "*",
    "~",
    "%2F",
    "%5C",
    "..%2F..%2Fhealthz",
]


def api_operations(patterns: Any = None, prefix: str = "/") -> Iterator[str]:
    """Yield "METHOD /path" of each route below /api/, from Django's resolver, in the form of the OpenAPI document."""
    for entry in get_resolver().url_patterns if patterns is None else patterns:
        path = prefix + re.sub(r"<\w+:(\w+)>", r"{\1}", str(entry.pattern))
        if hasattr(entry, "url_patterns"):
            yield from api_operations(entry.url_patterns, path)
        elif path.startswith("/api/") and str(entry.pattern):
            methods = getattr(entry.callback, "actions", {"get": ""})
            yield from (f"{method.upper()} {path}" for method in methods if method != "head")


@pytest.fixture
def send(api: ApiClient, measurements: dict[str, str]) -> SendRequest:
    """Return a function that sends a request to "METHOD /path", with the path exactly as it is."""

    def send_request(operation: str, body: bytes = b"{}") -> Any:
        count_inputs(measurements, "paths", 1)
        return api.request(*operation.split(" ", 1), body)

    return send_request


def test_the_openapi_document_contains_every_route():
    assert set(api_operations()) == {*operations(), *UNDOCUMENTED_OPERATIONS}


@pytest.mark.parametrize("operation", [operation for operation in operations() if "{id}" in operation])
def test_an_invalid_id_in_a_path_is_404(send, api, organization, operation):
    status_id = api.get_status("WON")["id"]
    body = json.dumps({"status_id": status_id, "note": "x", "since": "2027-01-05T10:00:00Z"}).encode()
    before = snapshot_of(organization)

    for id in INVALID_IDS:
        response = send(operation.replace("{id}", id), body)

        assert_error(response, 404, "Resource not found")

    assert snapshot_of(organization) == before


TEXTS = sorted({name for operation in operations() for name in re.findall(r"\{(\w+)\}", operation)} - {"id", "note_id"})


@pytest.mark.parametrize(
    "operation", [operation for operation in VALID_BODIES if re.search("|".join(TEXTS), operation)]
)
def test_no_text_in_a_path_fails_beside_a_valid_body(send, operation):
    body = json.dumps(VALID_BODIES[operation]).encode()

    for name in TEXTS:
        for text in INVALID_IDS if f"{{{name}}}" in operation else ():
            path = operation.replace(f"{{{name}}}", text).replace("{source}", "SCHEDULER_A")
            with rolled_back():
                response = send(re.sub(r"\{\w+\}", "a", path), body)

            assert response.status_code < 500, path
            assert response.headers["Content-Type"] == "application/json", path


SUFFIXES = ["/", "//", "/.", "/..", "%00", "%0a", "%20", "%2f", "%ff", ";a", ".json", "~"]


def manipulated_paths(path: str) -> list[str]:
    """Return variants of the path as an attacker might write it to get around a check."""
    path = path.replace("{id}", UNKNOWN_ID)
    first, _, rest = path[1:].partition("/")
    separators = ("/", "./", f"../{first}/", f"%2e%2e/{first}/", "%c0%af", "%2f")
    return [
        *(path + suffix for suffix in SUFFIXES),
        *(f"/{first}/{separator}{rest}" for separator in separators),
        f"/{first}/{rest.upper()}",
    ]


@pytest.mark.parametrize("operation", operations())
def test_a_manipulated_path_is_404(send, organization, operation):
    """It is 405 if the manipulated part is read as an id, because nothing is posted below an id.

    A call's id and a reference can be any text, so there it is the body that is refused.
    """
    method, path = operation.split(" ")
    before = snapshot_of(organization)
    expected = {400, 404, 405} if path.endswith(("call_id}", "reference}")) else {404, 405}

    for manipulated_path in manipulated_paths(path):
        response = send(f"{method} {manipulated_path}")

        assert response.status_code in expected, manipulated_path
        assert response.headers["Content-Type"] == "application/json", manipulated_path

    assert snapshot_of(organization) == before


METHODS = [
    "HEAD",
    "OPTIONS",
    "PUT",
    "DELETE",
    "TRACE",
    "CONNECT",
    "PATCH",
    "POST",
    "PROPFIND",
    "LOCK",
    "SEARCH",
    "A" * 300,
    "get",
    "Post",
]


@pytest.mark.parametrize("operation", [*operations(), *UNDOCUMENTED_OPERATIONS])
def test_no_method_gets_html_or_a_server_error(send, operation):
    path = operation.split(" ")[1].replace("{id}", UNKNOWN_ID)

    for method in METHODS:
        response = send(f"{method} {path}")

        # The documentation itself is the only HTML and Markdown.
        is_page = path.startswith("/api/docs") and response.status_code == 200
        assert response.status_code < 500
        assert is_page or response.headers["Content-Type"] == "application/json", (method, path)


@pytest.mark.parametrize("path", ["/api/schema", "/api/docs", "/api/docs/", "/api/docs/api", "/api/docs/api.md"])
def test_the_openapi_document_is_read_only(path):
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]:
        response = ApiClient(None).request(method, path, b"{}")

        assert (response.status_code, response.headers["Content-Type"]) == (405, "application/json")
        assert response.json()["status"] == "error"


@pytest.mark.parametrize("header", ["x_http_method_override", "x_method_override", "x_http_method"])
def test_no_header_changes_the_method(api, organization, header):
    before = snapshot_of(organization)

    assert api.get("/api/external/statuses", **{header: "DELETE"}).status_code == 200
    assert api.request("POST", "/api/external/statuses", b"{}", **{header: "GET"}).status_code == 405
    assert api.request("GET", "/api/external/appointments", b"", **{header: "POST"}).status_code == 200

    assert snapshot_of(organization) == before
