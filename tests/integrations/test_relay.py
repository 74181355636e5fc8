"""Signatures, and the status that the vendor gets."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from wsgiref.types import WSGIApplication

import pytest

from integrations import calcom, calendly, relay, typeform
from tests.integrations.conftest import Service
from tests.integrations.vendors import (
    CALCOM,
    CALENDLY,
    TYPEFORM,
    calcom_signature,
    calendly_signature,
    encode,
    post,
    typeform_signature,
)

BODY = encode(CALENDLY)
REFUSALS = [400, 404, 409, 413, 422]
TEMPORARY = [302, 307, 401, 403, 429, 500, 502, 503, 504]


@pytest.mark.parametrize(
    ("application", "body", "sign"),
    [
        (calendly.application, BODY, calendly_signature),
        (calendly.application, BODY, partial(calendly_signature, age=150)),
        (calcom.application, encode(CALCOM), calcom_signature),
        (typeform.application, encode(TYPEFORM), typeform_signature),
    ],
)
def test_a_signed_webhook_is_taken_and_a_changed_one_is_refused(
    service: Service, application: WSGIApplication, body: bytes, sign: Callable[[bytes], dict[str, str]]
) -> None:
    header = sign(body)
    statuses = [
        post(application, body, **header).status,
        post(application, body + b" ", **header).status,
        post(application, body).status,
    ]

    assert statuses == [200, 401, 401]
    assert len(service.requests) == 1


@pytest.mark.parametrize("age", [190, -190])
def test_an_old_signature_of_calendly_is_refused(service: Service, age: int) -> None:
    assert post(calendly.application, BODY, **calendly_signature(BODY, age=age)).status == 401

    assert service.requests == []


@pytest.mark.parametrize("header", ["", "t", "t=,v1=", "t=1,v1=2", "v1=\xe9", "=,=,,", "t=x,v1=", "no-secret-provided"])
@pytest.mark.parametrize(
    ("application", "name"),
    [
        (calendly.application, "HTTP_CALENDLY_WEBHOOK_SIGNATURE"),
        (calcom.application, "HTTP_X_CAL_SIGNATURE_256"),
        (typeform.application, "HTTP_TYPEFORM_SIGNATURE"),
    ],
)
def test_a_strange_signature_is_401(service: Service, application: WSGIApplication, name: str, header: str) -> None:
    assert post(application, BODY, **{name: header}).status == 401

    assert service.requests == []


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"{}", b'{"event": "invitee.created", "payload": 5}', b"\xff", b"[" * 100_000]
)
def test_signed_but_not_the_expected_json_is_400(service: Service, body: bytes) -> None:
    answer = post(calendly.application, body, **calendly_signature(body))

    assert (answer.status, answer.text.partition(":")[0]) == (400, "The body is not the expected JSON")
    assert service.requests == []


@pytest.mark.parametrize("length", [str(relay.MAX_BODY + 1), "9" * 30])
def test_a_large_body_is_413_and_not_read(service: Service, length: str) -> None:
    answer = post(calendly.application, BODY, **calendly_signature(BODY), CONTENT_LENGTH=length)

    assert (answer.status, answer.text) == (413, "The body is larger than 1048576 bytes")
    assert service.requests == []


@pytest.mark.parametrize(
    ("status", "expected"),
    [(200, 200), (201, 200), *((each, 422) for each in REFUSALS), *((each, 503) for each in TEMPORARY)],
)
def test_the_vendor_gets_a_status_that_says_whether_a_repeat_helps_and_the_services_text(
    service: Service, status: int, expected: int
) -> None:
    service.status, service.text = status, '{"message": "lead.email is required"}'
    # A redirect is not followed: the key would go to another server.
    service.headers = {"Location": "/elsewhere"} if status < 400 else {}

    answer = post(calendly.application, BODY, **calendly_signature(BODY))

    assert (answer.status, answer.text) == (expected, '{"message": "lead.email is required"}')
    assert answer.headers.get("Retry-After") == ("60" if expected == 503 else None)
    assert len(service.requests) == 1


def test_without_an_answer_of_the_service_it_is_503(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "SERVICE_URL", "http://127.0.0.1:1")

    answer = post(calendly.application, BODY, **calendly_signature(BODY))

    assert (answer.status, answer.headers) == (503, {"Content-Type": "text/plain", "Retry-After": "60"})
    assert answer.text == "The service did not answer: URLError"


def test_a_text_of_a_wrong_setting_does_not_show_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "API_KEY", "pb_secret\n")

    answer = post(calendly.application, BODY, **calendly_signature(BODY))

    assert (answer.status, answer.text) == (503, "The service did not answer: ValueError")


@pytest.mark.parametrize("secret", [None, ""])
def test_a_relay_without_secret_does_not_start(secret: str | None) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "WEBHOOK_SECRET"}
    environ |= {} if secret is None else {"WEBHOOK_SECRET": secret}

    result = subprocess.run(
        [sys.executable, "-m", "integrations.calcom"], env=environ, capture_output=True, text=True, check=False
    )

    assert (result.returncode, result.stderr) == (1, "Set WEBHOOK_SECRET\n")


@pytest.mark.parametrize("name", ["host_email", "meeting_url"])
def test_a_host_or_address_that_the_service_refuses_is_left_out(service: Service, name: str) -> None:
    service.status, service.text = 400, json.dumps({"errors": {name: ["is refused"]}})

    relay.send("SCHEDULER_A/appointments/1", {name: "x", "state": "BOOKED"})

    assert [json.loads(body) for *_, body in service.requests] == [{name: "x", "state": "BOOKED"}, {"state": "BOOKED"}]


@pytest.mark.parametrize(("status", "logged"), [(200, ""), (400, "422: {}\n"), (500, "503: {}\n")])
def test_a_refusal_is_logged_with_the_services_text(service: Service, status: int, logged: str) -> None:
    service.status, service.text = status, '{"message": "lead.email is required"}'
    log = io.StringIO()

    post(calendly.application, BODY, **calendly_signature(BODY), **{"wsgi.errors": log})

    assert log.getvalue() == logged.format(service.text)
