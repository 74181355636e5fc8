"""Paths and methods: F37 and F38 of the catalogue. Other methods, trailing slashes and unknown paths are in tests/contract/test_errors.py.

The routes come from Django's resolver, so that each of them is known here to be in the document.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import get_resolver

from tests.client import ApiClient
from tests.contract.assertions import assert_error
from tests.factories import snapshot_of
from tests.hostile.interface import UNKNOWN, operations
from tests.hostile.tally import tried

BESIDE_THE_INTERFACE = ["GET /api/schema", "GET /api/docs"]
NO_IDS = [
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
]
NO_IDS += [
    "{id}",
    "$%7Bx%7D",
    UNKNOWN.replace("-", ""),
    f"%7B{UNKNOWN}%7D",
    f"urn:uuid:{UNKNOWN}",
    f"{UNKNOWN}0",
    UNKNOWN[:-1],
    f"{UNKNOWN}%0a",
    f"{UNKNOWN}.json",
    "a" * 5000,
]
NO_IDS += [
    UNKNOWN,
    f"%20{UNKNOWN}",
    f"{UNKNOWN}%20",
    UNKNOWN.replace("0", "%EF%BC%90", 1),
    f"{UNKNOWN};a=b",
    "user_abc",
    "*",
    "~",
    "%2F",
    "%5C",
    "..%2F..%2Fhealthz",
]


def routes(patterns: Any = None, prefix: str = "/") -> Iterator[str]:
    """Methods and paths under /api/, as the document writes them."""
    for entry in get_resolver().url_patterns if patterns is None else patterns:
        path = prefix + re.sub(r"<\w+:(\w+)>", r"{\1}", str(entry.pattern))
        if hasattr(entry, "url_patterns"):
            yield from routes(entry.url_patterns, path)
        elif path.startswith("/api/") and str(entry.pattern):
            yield from (
                f"{method.upper()} {path}"
                for method in getattr(entry.callback, "actions", {"get": ""})
                if method != "head"
            )


@pytest.fixture
def ask(api, measurements):
    """Ask with a path as it is."""

    def ask(call: str, body: bytes = b"{}"):
        tried(measurements, "paths", 1)
        return api.request(*call.split(" ", 1), body)

    return ask


def test_the_document_knows_every_route():
    assert set(routes()) == {*operations(), *BESIDE_THE_INTERFACE}


@pytest.mark.parametrize("call", [call for call in operations() if "{id}" in call])
def test_an_id_that_is_none_is_an_unknown_one(ask, api, organization, call):
    won = api.get_status("WON")["id"]
    before = snapshot_of(organization)

    for id in NO_IDS:
        assert_error(ask(call.replace("{id}", id), f'{{"status_id": "{won}"}}'.encode()), 404, "Resource not found")

    assert snapshot_of(organization) == before


ENDS = ["/", "//", "/.", "/..", "%00", "%0a", "%20", "%2f", "%ff", ";a", ".json", "~"]


def bent(path: str) -> list[str]:
    """The path, as one might write it to get around something."""
    path = path.replace("{id}", UNKNOWN)
    head, _, tail = path[1:].partition("/")
    middles = [f"/{head}/{middle}{tail}" for middle in ("/", "./", f"../{head}/", f"%2e%2e/{head}/", "%c0%af", "%2f")]
    return [*(path + end for end in ENDS), *middles, f"/{head}/{tail.upper()}"]


@pytest.mark.parametrize("call", operations())
def test_a_bent_path_is_no_path(ask, organization, call):
    """404; 405 where what was bent is read as an id, under which there is nothing to post."""
    method, path = call.split(" ")
    before = snapshot_of(organization)

    for other in bent(path):
        answer = ask(f"{method} {other}")
        assert (answer.status_code, answer.headers["Content-Type"]) in {
            (404, "application/json"),
            (405, "application/json"),
        }, other

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


@pytest.mark.parametrize("call", [*operations(), *BESIDE_THE_INTERFACE])
def test_no_method_gets_html_or_a_server_error(ask, call):
    path = call.split(" ")[1].replace("{id}", UNKNOWN)
    for method in METHODS:
        answer = ask(f"{method} {path}")
        is_page = path == "/api/docs" and answer.status_code == 200

        assert answer.status_code < 500
        assert is_page or answer.headers["Content-Type"] == "application/json", (method, path)


@pytest.mark.parametrize("path", ["/api/schema", "/api/docs"])
def test_the_document_is_only_read(path):
    for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]:
        answer = ApiClient(None).request(method, path, b"{}")

        assert (answer.status_code, answer.headers["Content-Type"], answer.json()["status"]) == (
            405,
            "application/json",
            "error",
        )


OVERRIDES = ["x_http_method_override", "x_method_override", "x_http_method"]


@pytest.mark.parametrize("header", OVERRIDES)
def test_no_header_changes_the_method(api, organization, header):
    before = snapshot_of(organization)

    assert api.get("/api/external/statuses", **{header: "DELETE"}).status_code == 200
    assert api.request("POST", "/api/external/statuses", b"{}", **{header: "GET"}).status_code == 405
    assert api.request("GET", "/api/external/appointments", b"", **{header: "POST"}).status_code == 200

    assert snapshot_of(organization) == before
