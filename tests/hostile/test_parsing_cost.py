"""What a request's headers and body cost to parse, in steps of Python code (docs/guarantees.md, L3 and M8).

A step is one instruction of the interpreter. Python's own parser, which is written in C, takes none. Steps are counted
instead of seconds, which differ on every machine; `make bench` measures the seconds.
"""

import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import BytesIO
from types import FrameType, SimpleNamespace
from typing import Any

import pytest
from rest_framework.exceptions import APIException

from foundation.api.exceptions import ValidationFailed
from foundation.api.parsers import parse_json
from pipeline_backend.web.requests import build_environ
from pipeline_backend.wsgi import Request
from tests.client import ApiClient
from tests.contract.assertions import assert_invalid_fields
from tests.factories import snapshot_of

SIZE = 32 * 1024
STEPS_PER_ITEM = 30
# The item of a list that fills the body.
ITEMS = {
    "empty lists": "[]",
    "nested lists": "[" * 30 + "]" * 30,
    "whole numbers": "0",
    "digits": "1" * 4000,
    "literals": "true",
    "texts": '""',
    "texts of brackets": '"["',
    "escaped quotes": '"\\""',
    "escaped backslashes": '"\\\\u0000"',
    "escaped characters": '"\\u00e9"',
    "surrogate pairs": '"\\ud83d\\ude00"',
}
ITEMS_WITH_CODE = {
    "empty objects": "{}",
    "objects": '{"a":0}',
    "nested objects": '{"a":[]}',
    "floats": "0.1",
    "exponents": "1e9",
}
INVALID_ENDINGS = {
    "valid": "]}",
    "unfinished": "",
    "NUL": ',"\\u0000"]}',
    "surrogate": ',"\\ud800"]}',
    "too deep": "," + "[" * 40 + "]" * 40 + "]}",
    "infinite": ",1e400]}",
    "NaN": ",NaN]}",
    "repeated name": ',{"a":1,"a":1}]}',
}


# Values of cookies, filled with the item.
QUOTED_ITEMS = {
    "backslashes": "\\",
    "escaped quotes": '\\"',
    "escaped letters": "\\a",
    "octal codes": "\\101",
    "octal codes behind backslashes": "\\\\\\1",
}


def parse_cookies(value: str) -> object:
    """Read a request with this Cookie header as the web server does, and return its cookies."""
    scope: Any = SimpleNamespace(
        method="GET",
        path="/",
        query_string="",
        http_version="1.1",
        scheme="http",
        client="127.0.0.1:1",
        server="127.0.0.1:2",
        headers={"host": "localhost", "cookie": value},
    )
    return Request({**build_environ(scope), "wsgi.input": BytesIO()}).COOKIES


@pytest.mark.parametrize("item", QUOTED_ITEMS.values(), ids=QUOTED_ITEMS)
def test_a_quoted_cookie_takes_no_more_steps_if_it_is_longer(item: str) -> None:
    short, long = (f'a="{item * (size // len(item))}"' for size in (4_000, 8_000))
    parse_cookies(short)  # the first request takes more steps

    assert count_steps_of(partial(parse_cookies, long)) == count_steps_of(partial(parse_cookies, short))


def body_of(item: str, count: int, ending: str = "]}") -> bytes:
    """Return a body with a list of as many items."""
    return ('{"unknown":[' + ",".join([item] * count) + ending).encode()


def count_steps(body: bytes) -> int:
    """Parse the body, whether it is accepted or refused, and return the number of instructions of Python code."""
    return count_steps_of(partial(parse_json, body))


def count_steps_of(call: Callable[[], object]) -> int:
    """Return the number of instructions of Python code that the call takes."""
    steps = 0

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal steps
        frame.f_trace_opcodes = True
        steps += event == "opcode"
        return trace

    previous = sys.gettrace()
    gc.disable()  # it would run finalizers of earlier tests in between
    sys.settrace(trace)
    try:
        with suppress(APIException, ValidationFailed):
            call()
    finally:
        sys.settrace(previous)
        gc.enable()
    return steps


@pytest.mark.parametrize("ending", INVALID_ENDINGS.values(), ids=INVALID_ENDINGS)
@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
def test_twice_as_many_items_take_no_more_steps(item: str, ending: str) -> None:
    count = max(1_100, SIZE // len(item))

    assert count_steps(body_of(item, 2 * count, ending)) == count_steps(body_of(item, count, ending))


@pytest.mark.parametrize("ending", INVALID_ENDINGS.values(), ids=INVALID_ENDINGS)
@pytest.mark.parametrize("item", ITEMS_WITH_CODE.values(), ids=ITEMS_WITH_CODE)
def test_an_object_or_a_float_takes_a_few_steps(item: str, ending: str) -> None:
    count = max(1_100, SIZE // len(item))

    added = count_steps(body_of(item, 2 * count, ending)) - count_steps(body_of(item, count, ending))

    assert 0 < added <= count * STEPS_PER_ITEM


def test_many_names_in_one_object_take_no_more_steps_than_two() -> None:
    few, many = ("{" + ",".join(f'"{number:x}":0' for number in range(count)) + "}" for count in (2, 5_000))

    assert count_steps(many.encode()) == count_steps(few.encode())


@pytest.mark.parametrize(
    "text", ["x" * SIZE, "\\n" * SIZE, "é" * SIZE, "[{" * SIZE], ids=["plain", "escapes", "é", "["]
)
def test_a_long_text_takes_no_more_steps_than_a_short_one(text: str) -> None:
    assert count_steps(f'{{"a":"{text}"}}'.encode()) == count_steps(f'{{"a":"{text[:2]}"}}'.encode())


@pytest.mark.parametrize("body", [b"[" * SIZE, b'{"a":' * SIZE, b"x" * SIZE, b'"' * SIZE], ids=["[", "{", "x", '"'])
def test_a_body_that_breaks_off_takes_few_steps(body: bytes) -> None:
    assert count_steps(body) < 500


def test_an_unstorable_text_behind_a_thousand_values_is_400_and_names_the_body(
    api: ApiClient, organization: Any
) -> None:
    before = snapshot_of(organization)
    numbers = ",".join("0" for _ in range(2_000))

    early = api.request("POST", "/api/external/appointments", f'{{"notes": "\\u0000", "unknown": [{numbers}]}}')
    late = api.request("POST", "/api/external/appointments", f'{{"unknown": [{numbers}], "notes": "\\u0000"}}')

    assert_invalid_fields(early, "notes")
    assert_invalid_fields(late, "body")
    assert snapshot_of(organization) == before
