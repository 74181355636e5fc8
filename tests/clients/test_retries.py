"""The Python client repeats requests that may succeed later, and no others."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from pipeline_client import Pipeline, PipelineError

from tests.clients.conftest import FailingServer

AT_ONCE = {"Retry-After": "0"}
Start = Callable[..., FailingServer]


def book(url: str, **options: Any) -> Any:
    monday = datetime(2027, 3, 1, 15, tzinfo=UTC)
    with Pipeline(url, "pb_1", **options) as pipeline:
        return pipeline.book("ref-1", monday, lead_email="ada@example.com")


def test_a_write_is_repeated_with_the_same_body_and_idempotency_key(failing_server: Start) -> None:
    temporary = [(code, AT_ONCE) for code in (408, 409, 429, 500, 502, 503, 504)]
    server = failing_server((0, {}), *temporary, (201, {}))

    booked = book(server.url)

    assert str(booked.id) == "0193e0a5-77c4-7b6f-9d0e-3c6f5d2a0002"
    assert len(server.requests) == 9
    [(path, key, body)] = set(server.requests)
    assert (path, len(str(key))) == ("/api/external/appointments", 36)
    assert json.loads(body) == {
        "external_reference": "ref-1",
        "schedule_time": "2027-03-01T15:00:00+00:00",
        "lead_email": "ada@example.com",
    }


def test_each_request_has_another_idempotency_key(failing_server: Start) -> None:
    server = failing_server((201, {}), (201, {}))

    book(server.url)
    book(server.url)

    assert len({key for _, key, _ in server.requests}) == 2


@pytest.mark.parametrize("code", [301, 400, 401, 403, 404, 409, 412, 413, 422])
def test_a_refusal_is_not_repeated(failing_server: Start, code: int) -> None:
    server = failing_server((code, {"X-Request-Id": "request-1"}))

    with pytest.raises(PipelineError) as error:
        book(server.url)

    assert len(server.requests) == 1
    assert (error.value.status_code, error.value.message) == (code, f"Refused with {code}")
    assert error.value.request_id == "request-1"


def test_it_waits_as_retry_after_says_and_gives_up_if_that_is_after_the_deadline(failing_server: Start) -> None:
    waiting = failing_server((429, {"Retry-After": "1"}), (201, {}))
    started = time.monotonic()
    book(waiting.url)
    waited = time.monotonic() - started
    ending = failing_server((502, {"Retry-After": "60"}))
    with pytest.raises(PipelineError, match="The response has the status code 502"):
        book(ending.url, deadline=10)
    gone = failing_server((0, {}))
    with pytest.raises(httpx.TransportError):
        book(gone.url, deadline=0.1)

    assert waited >= 1
    assert [len(server.requests) for server in (waiting, ending, gone)] == [2, 1, 1]


def test_the_next_request_waits_for_the_next_window_if_none_is_left_in_this_one(failing_server: Start) -> None:
    server = failing_server((201, {"RateLimit": '"default";r=0;t=1'}), (201, {"RateLimit": '"default";r=599;t=60'}))

    with Pipeline(server.url, "pb_1") as pipeline:
        pipeline.cancel("ref-1")
        first = time.monotonic()
        pipeline.cancel("ref-1")

    # The window begins a second after the first response, which is a bit before `first`.
    assert time.monotonic() - first >= 0.9
