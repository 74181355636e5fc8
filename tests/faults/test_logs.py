"""`LOG_FORMAT=json`: what web and worker write, seen from outside (docs/operate.md, *Logs*)."""

import json
import logging
import sys
from datetime import datetime
from typing import Any
from urllib.request import Request

import pytest

from organizations.models import Organization
from pipeline_backend.web.logs import JsonFormatter
from tests.client import ApiClient
from tests.faults.stack import Stack, wait_for
from tests.receiver import Receiver
from webhooks.models import Endpoint, Event
from webhooks.queue import DELIVERIES
from webhooks.services import add_endpoint

APPOINTMENTS = "api/external/appointments"
LEAD = {"email": "canary.ada@leads.example", "phone": "+4915112345678"}


@pytest.fixture
def endpoint(organization: Organization, receiver: Receiver) -> Endpoint:
    return add_endpoint(organization=organization, url=receiver.url)[0]


def log_text(stack: Stack, process: str) -> str:
    return (stack.folder / f"{process}.log").read_text()


def read_lines(stack: Stack, process: str, message: str) -> list[dict[str, Any]]:
    """Return the complete JSON lines of a process with this message. Granian's own lines are not JSON."""
    complete = log_text(stack, process).rpartition("\n")[0]
    lines = [json.loads(line) for line in complete.split("\n") if line.startswith("{")]
    return [line for line in lines if line["message"] == message]


def find_deliveries(stack: Stack) -> list[dict[str, Any]]:
    return [line for line in read_lines(stack, "worker", "delivery") if line["queue"] == DELIVERIES.label]


def send(stack: Stack, path: str, key: str, request_id: str) -> int:
    return stack.send(Request(stack.url(path), headers={"x-api-key": key, "x-request-id": request_id})).status


def find_requests(stack: Stack) -> dict[str, dict[str, Any]]:
    """Return the lines of the requests that the test named, by request id."""
    lines = read_lines(stack, "web", "request")
    return {line["request_id"]: line for line in lines if line["request_id"].startswith("test-")}


def test_each_request_and_each_delivery_is_one_line_without_personal_data(
    stack: Stack, organization: Organization, api: ApiClient, endpoint: Endpoint, receiver: Receiver
) -> None:
    stack.settings["LOG_FORMAT"] = "json"
    stack.start("web", "worker")
    status, body = stack.book(api.key, **LEAD)
    id = body["data"]["id"]
    sent = {
        "test-1": send(stack, f"/{APPOINTMENTS}/{id}?x={LEAD['email']}", api.key, "test-1"),
        "test-2": send(stack, f"/{APPOINTMENTS}/{id}", "wrong-key", "test-2"),
        "test-3": send(stack, f"/api/{LEAD['email']}", api.key, "test-3"),
    }
    events = {str(event.pk): event for event in Event.objects.of(organization)}
    wait_for(lambda: len(find_deliveries(stack)) == len(events) == 2)
    wait_for(lambda: len(find_requests(stack)) == len(sent))

    requests = find_requests(stack)
    assert (status, sent) == (201, {"test-1": 200, "test-2": 401, "test-3": 404})
    for request_id, line in requests.items():
        assert datetime.fromisoformat(line.pop("time")).utcoffset() is not None
        assert line.pop("duration_ms") > 0
        assert (line.pop("level"), line.pop("logger"), line["method"]) == ("INFO", "pipeline_backend.requests", "GET")
        assert line["status"] == sent[request_id]
    assert requests["test-1"]["organization"] == str(organization.pk)
    assert requests["test-1"]["route"].startswith(APPOINTMENTS)
    assert (requests["test-2"]["organization"], requests["test-2"]["route"]) == (None, requests["test-1"]["route"])

    deliveries = find_deliveries(stack)
    assert {line["event_id"] for line in deliveries} == set(events)
    for line in deliveries:
        event = events[line["event_id"]]
        assert datetime.fromisoformat(line.pop("time")).utcoffset() is not None
        assert line.pop("duration_ms") > 0
        assert line == {
            "level": "INFO",
            "logger": "pipeline_backend.deliveries",
            "request_id": event.request_id,
            "message": "delivery",
            "queue": "webhook deliveries",
            "organization": str(organization.pk),
            "endpoint": str(endpoint.pk),
            "event": event.type,
            "event_id": str(event.pk),
            "attempt": 1,
            "status": 204,
            "error": "",
        }

    everything = log_text(stack, "web") + log_text(stack, "worker")
    private = [*LEAD.values(), id, api.key, endpoint.secret, receiver.url, "127.0.0.1"]
    assert [text for text in private if text in "".join(map(json.dumps, [*requests.values(), *deliveries]))] == []
    assert [text for text in [*LEAD.values(), api.key, endpoint.secret] if text in everything] == []


def test_by_default_there_is_no_line_for_each_request(stack: Stack, api: ApiClient) -> None:
    stack.start("web")

    assert send(stack, f"/{APPOINTMENTS}", api.key, "test-1") == 200

    assert "pipeline_backend.requests" not in log_text(stack, "web")


def test_a_traceback_stays_on_the_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        record = logging.LogRecord("some.logger", logging.ERROR, "", 0, "failed: %s", ("a\nb",), sys.exc_info())

    text = JsonFormatter().format(record)

    assert "\n" not in text
    line = json.loads(text)
    assert (line["level"], line["logger"], line["message"]) == ("ERROR", "some.logger", "failed: a\nb")
    assert line["exception"].endswith("ValueError: two\nlines")
