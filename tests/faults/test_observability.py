"""Errors to Sentry and traces to OpenTelemetry (docs/tracing.md): what arrives, and that nothing of a request does."""

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from os import environ
from typing import Any
from urllib.request import Request

import pytest
from cryptography.fernet import Fernet
from django.db import connection
from django.db.models import TextField, Value
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from organizations.models import Organization
from tests.client import ApiClient, booking_payload
from tests.factories import owner_of
from tests.faults.stack import ROOT, Stack, wait_for
from tests.hostile.tenants import make_admin_client
from tests.receiver import ReceivedRequest, Receiver
from webhooks.models import Delivery, Endpoint
from webhooks.services import add_endpoint

SENTRY, OPENTELEMETRY = "sentry_sdk", "opentelemetry.instrumentation.django"
DSN_KEY = "0123456789abcdef0123456789abcdef"
APPOINTMENTS = "api/external/appointments"
EMAIL, PHONE, NAME = "canary.ada@leads.example", "+4915112345678", "canary-name"
QUERY, ARGUMENT, LOST_SECRET = "canary-query", "canary-argument@leads.example", "whsec_canary"
TRACE_ID, OTHER_TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "a3ce929d0e0e47364bf92f3577b34da6"
ATTRIBUTES = {
    "http.method",
    "http.route",
    "http.status_code",
    "db.system",
    "db.statement",
    "celery.action",
    "celery.state",
    "celery.task_name",
}
API, PAGE, TASK, DISPATCHER = (
    "foundation.api.exceptions",
    "django.request",
    "celery.app.trace",
    "foundation.outbox.dispatcher",
)

# An error of the database whose message quotes the row.
BREAK_LEADS = """
    CREATE FUNCTION break_leads() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'the lead % is broken', row_to_json(NEW);
    END $$;
    CREATE TRIGGER break_leads BEFORE INSERT ON leads_lead FOR EACH ROW EXECUTE FUNCTION break_leads();
"""


@dataclass
class Collectors:
    """What Sentry and the collector of OpenTelemetry have received."""

    sentry: Receiver
    otlp: Receiver

    def errors(self) -> dict[str, dict[str, Any]]:
        """Return the events by their logger; of several with one logger, the first."""
        events = [json.loads(decompressed(request).splitlines()[2]) for request in self.sentry.requests]
        return {event["logger"]: event for event in reversed(events)}

    def spans(self, trace_id: str = "") -> list[Span]:
        """Return all spans, or those of one trace."""
        exports = [ExportTraceServiceRequest.FromString(decompressed(request)) for request in self.otlp.requests]
        scopes = [scope for export in exports for resource in export.resource_spans for scope in resource.scope_spans]
        return [span for scope in scopes for span in scope.spans if trace_id in ("", span.trace_id.hex())]

    def everything(self) -> str:
        """Return all that was received, with the requests' headers."""
        requests = [*self.sentry.requests, *self.otlp.requests]
        return "\n".join(f"{request.headers} {decompressed(request).decode(errors='replace')}" for request in requests)


def decompressed(request: ReceivedRequest) -> bytes:
    encoding = request.headers.get("content-encoding")
    assert encoding in {None, "gzip"}
    return gzip.decompress(request.body) if encoding else request.body


def attributes(span: Span) -> dict[str, object]:
    return {item.key: getattr(item.value, str(item.value.WhichOneof("value"))) for item in span.attributes}


@pytest.fixture
def collectors(stack: Stack) -> Iterator[Collectors]:
    """Listen as Sentry and as a collector, for processes that are started later."""
    with Receiver(status_codes=[200]) as sentry, Receiver(status_codes=[200]) as otlp:
        sentry_host, otlp_host = sentry.url.split("/")[2], otlp.url.split("/")[2]
        stack.settings |= {
            "SENTRY_DSN": f"http://{DSN_KEY}@{sentry_host}/1",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{otlp_host}",
            "OTEL_BSP_SCHEDULE_DELAY": "200",  # milliseconds
        }
        yield Collectors(sentry, otlp)


@pytest.fixture
def broken_leads(stack: Stack) -> Iterator[None]:
    """Let every new lead be an error."""
    with connection.cursor() as cursor:
        cursor.execute(BREAK_LEADS)
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION break_leads() CASCADE")


@pytest.fixture
def unreadable_endpoint(organization: Organization) -> Endpoint:
    """Create an endpoint whose secret is encrypted with a lost key."""
    endpoint = add_endpoint(organization=organization, url="https://lost.example.com/")[0]
    secret = Value(Fernet(Fernet.generate_key()).encrypt(LOST_SECRET.encode()).decode(), TextField())
    Endpoint.objects.of(organization).filter(pk=endpoint.pk).update(secret=secret)
    return endpoint


def send(stack: Stack, path: str, request_id: str, trace_id: str, body: object = None, **headers: str) -> int:
    """Send a request as part of a trace, and return the response's status."""
    headers |= {
        "x-request-id": request_id,
        "traceparent": f"00-{trace_id}-00f067aa0ba902b7-01",
        "content-type": "application/json",
    }
    data = json.dumps(body).encode() if body else None
    with stack.open(Request(stack.url(path), data=data, headers=headers)) as response:
        return int(response.status)


def test_errors_and_traces_have_no_content_of_requests(
    stack: Stack,
    api: ApiClient,
    organization: Organization,
    receiver: Receiver,
    collectors: Collectors,
    unreadable_endpoint: Endpoint,
    broken_leads: None,
) -> None:
    endpoint = add_endpoint(organization=organization, url=receiver.url)[0]
    session = make_admin_client(owner_of(organization)).session.session_key
    stack.start("web")
    lead = {"lead_email": EMAIL, "lead_phone": PHONE, "lead_first_name": NAME}
    page = f"/admin/webhooks/endpoint/{unreadable_endpoint.pk}/change/?search={QUERY}"
    cookie = {"cookie": f"sessionid={session}"}

    statuses = [
        send(stack, f"/{APPOINTMENTS}?setter={QUERY}", "list-2", OTHER_TRACE_ID, **{"x-api-key": api.key}),
        send(stack, f"/{APPOINTMENTS}?limit=1", "list-1", TRACE_ID, **{"x-api-key": api.key}),
        send(stack, f"/{APPOINTMENTS}", "book-1", OTHER_TRACE_ID, booking_payload(**lead), **{"x-api-key": api.key}),
        send(stack, page, "page-1", OTHER_TRACE_ID, **cookie),
    ]
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER break_leads ON leads_lead")
    statuses.append(stack.book(api.key, **lead)[0])
    stack.start("worker")
    stack.send_task("outbox.deliver_due", "webhooks.delivery", ARGUMENT)
    wait_for(lambda: set(collectors.errors()) >= {API, PAGE, TASK, DISPATCHER})
    wait_for(lambda: "run/outbox.deliver_due" in {span.name for span in collectors.spans()})
    wait_for(lambda: f"GET {APPOINTMENTS}" in {span.name for span in collectors.spans(TRACE_ID)})
    wait_for(lambda: len(receiver.requests) == Delivery.objects.of(organization).count() // 2 == 2)

    assert statuses == [200, 200, 500, 500, 201]
    everything = collectors.everything()
    secrets = [api.key, api.key[16:48], session, endpoint.secret, LOST_SECRET, EMAIL, PHONE, NAME, QUERY, ARGUMENT]
    others = [str(unreadable_endpoint.pk), receiver.url, "owner@acme.example"]
    assert [text for text in [*secrets, *others] if text in everything] == []
    assert {key for span in collectors.spans() for key in attributes(span)} == ATTRIBUTES
    assert [span for span in collectors.spans() if span.events or span.trace_state or span.status.message] == []
    assert_errors_are_useful(collectors.errors())
    assert_trace_is_useful(collectors.spans(TRACE_ID))


def assert_errors_are_useful(errors: dict[str, dict[str, Any]]) -> None:
    """Assert that each error has its type, its frames and its request, and nothing else."""
    types = {logger: event["exception"]["values"][-1]["type"] for logger, event in errors.items()}
    assert types == {
        API: "ProgrammingError",
        PAGE: "InvalidToken",
        TASK: "ValidationError",
        DISPATCHER: "InvalidToken",
    }
    change = "admin/webhooks/endpoint/<path:object_id>/change/"
    assert errors[API]["tags"] == {"request_id": "book-1", "route": APPOINTMENTS, "method": "POST"}
    assert errors[PAGE]["tags"] == {"request_id": "page-1", "route": change, "method": "GET"}
    for event in errors.values():
        assert set(event) <= {
            *("event_id", "timestamp", "platform", "level", "logger", "release", "environment", "exception", "tags")
        }
        frames = [frame for error in event["exception"]["values"] for frame in error["stacktrace"]["frames"]]
        assert {key for frame in frames for key in frame} == {"filename", "function", "module", "lineno", "in_app"}
        assert any(frame["in_app"] for frame in frames)


def assert_trace_is_useful(spans: list[Span]) -> None:
    """Assert that a request's trace has its statements and its Redis commands, without values."""
    (server,) = [span for span in spans if span.kind == Span.SPAN_KIND_SERVER]
    assert server.name == f"GET {APPOINTMENTS}"
    assert attributes(server) == {"http.method": "GET", "http.route": APPOINTMENTS, "http.status_code": 200}
    inner = [attributes(span) for span in spans if span.parent_span_id == server.span_id]
    # Without Redis if it was too slow before: the request is then not counted.
    assert {"postgresql"} <= {values["db.system"] for values in inner} <= {"postgresql", "redis"}
    statements = [str(values["db.statement"]) for values in inner]
    assert any('FROM "appointments_appointment"' in statement for statement in statements)
    assert [statement for statement in statements if "'" in statement] == []
    commands = {values["db.statement"] for values in inner if values["db.system"] == "redis"}
    assert [command for command in commands if not re.fullmatch(r"[A-Z]+[A-Z ?]*", str(command))] == []


@pytest.mark.parametrize(
    ("name", "value", "module"),
    [
        ("SENTRY_DSN", f"https://{DSN_KEY}@sentry.example.com/1", SENTRY),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318", OPENTELEMETRY),
    ],
)
def test_without_its_packages_a_setting_stops_the_start(name: str, value: str, module: str) -> None:
    result = run_python(f"import sys; sys.modules[{module!r}] = None; import pipeline_backend.wsgi", **{name: value})

    problem = "is set, but its packages are not installed; run pip install -r requirements-observability.txt"
    assert (result.returncode, result.stderr) == (1, f"Invalid settings: {name} {problem}\n")


def test_without_the_settings_no_package_is_loaded() -> None:
    result = run_python("import sys; import pipeline_backend.wsgi; print(*sys.modules, sep='\\n')")

    assert {SENTRY, OPENTELEMETRY} & set(result.stdout.splitlines()) == set()
    assert "pipeline_backend.observability" in result.stdout.splitlines()


def run_python(code: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
