"""The messages of refused requests (docs/interface.md, G4 to G6 and G11)."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from organizations.models import Organization
from tests.client import ApiClient
from tests.contract.assertions import assert_error
from tests.factories import make_api, make_provider_appointment, make_status, snapshot_of

APPOINTMENTS = "/api/external/appointments"
STATUSES = "/api/external/statuses"
LEADS = "/api/external/leads"
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
MIB = 1024 * 1024
# A name of a field or parameter, or a capital letter; one sentence on one line, without a full stop.
MESSAGE = re.compile(r"([a-z0-9_.]+ |[A-Z])[^\n]{5,1000}(?<![.!?:;,\s])")
REFUSED: dict[str, Callable[[ApiClient], Any]] = {
    "400 a missing field": lambda api: api.book(external_reference=...),
    "400 one of two fields": lambda api: api.book(lead_email=..., event_type_name=...),
    "400 the type of each field of a booking": lambda api: api.post(
        APPOINTMENTS,
        dict.fromkeys(
            [
                *("external_reference", "schedule_time", "lead_email", "event_type_name", "lead_id", "event_type_id"),
                *("lead_first_name", "host_email", "meeting_url", "notes"),
            ],
            5,
        ),
    ),
    "400 the value of each field of a booking": lambda api: api.book(
        external_reference="a" * 256,
        schedule_time="soon",
        lead_email="a",
        lead_id="x",
        meeting_url="ftp://a",
        notes="a" * 10_001,
    ),
    "400 an unknown member": lambda api: api.book(host_email="nobody@acme.example", setter_email="n@acme.example"),
    "400 an unknown event type": lambda api: api.book(event_type_id=UNKNOWN_ID),
    "400 an unknown lead": lambda api: api.book(lead_id=UNKNOWN_ID),
    "400 the value of each field of an opt-in": lambda api: api.submit(
        email="a", source="X", phone_e164="123", phone_country="US", questions_answers=[5, {}, {"position": 0}]
    ),
    "400 an opt-in's country": lambda api: api.submit(phone_e164="+442079460000", phone_country="ZZ"),
    "400 an opt-in's answers": lambda api: api.submit(questions_answers=[{}] * 51),
    "400 an opt-in's array": lambda api: api.submit(questions_answers={}),
    "400 parameters of appointments": lambda api: api.request(
        "GET",
        f"{APPOINTMENTS}?page=0&limit=x&lead_id=x&call_category=X&outcome_role=X&setter=a%00&created_from=x&ordering=x"
        "&unknown=1&closer=a&closer=b",
    ),
    "400 an id in a parameter": lambda api: api.get(APPOINTMENTS, {"lead_id": UNKNOWN_ID}),
    "400 parameters of events": lambda api: api.get("/api/external/events", {"after": "x", "type": "x", "limit": "0"}),
    "400 an unknown event": lambda api: api.get("/api/external/events", {"after": UNKNOWN_ID}),
    "400 NUL": lambda api: api.book(notes="\0"),
    "400 NUL in a name": lambda api: api.book(**{"\0": 1}),
    "400 JSON": lambda api: api.request("POST", APPOINTMENTS, b'{"a": 1,}'),
    "400 JSON, no object": lambda api: api.request("POST", APPOINTMENTS, b"[]"),
    "400 JSON, nested": lambda api: api.request("POST", APPOINTMENTS, b"[" * 100_000),
    "400 JSON, a name twice": lambda api: api.request("POST", APPOINTMENTS, b'{"a": 1, "a": 2}'),
    "400 JSON, NaN": lambda api: api.request("POST", APPOINTMENTS, b'{"a": NaN}'),
    "400 parameters": lambda api: api.get(APPOINTMENTS + "?" + "&".join(f"_{n}=1" for n in range(1_001))),
    "400 a status": lambda api: api.patch(f"{LEADS}/{lead_id(api)}/status", {"status_id": UNKNOWN_ID}),
    "400 a host": lambda api: api.get(STATUSES, host="other.example"),
    "401 no key": lambda api: ApiClient(None).get(STATUSES),
    "404 an id": lambda api: api.get(f"{APPOINTMENTS}/{UNKNOWN_ID}"),
    "404 a path": lambda api: api.get("/api/nothing"),
    "404 a reference": lambda api: api.cancel(external_reference="unknown"),
    "405 a method": lambda api: api.request("DELETE", APPOINTMENTS),
    "405 a method of the document": lambda api: api.request("POST", "/api/schema"),
    "409 another time": lambda api: [api.book(), api.book(schedule_time="2027-02-01T10:00:00Z")][1],
    "413 a body": lambda api: api.request("POST", APPOINTMENTS, b"{}".ljust(MIB + 1)),
    "415 a media type": lambda api: api.request("POST", APPOINTMENTS, b"a=1", "application/x-www-form-urlencoded"),
    "415 no media type": lambda api: api.request("POST", APPOINTMENTS, b"{}", ""),
    "415 an encoding": lambda api: api.request("POST", APPOINTMENTS, b"{}", content_encoding="gzip"),
}


def lead_id(api: ApiClient) -> str:
    id: str = api.submit().json()["data"]["lead_id"]
    return id


def assert_manner(response: Any, status_code: int) -> None:
    """Assert that each message of an error is one sentence in the form that all have."""
    body = response.json()
    assert (response.status_code, response.headers["Content-Type"]) == (status_code, "application/json")
    messages = [body["message"], *(message for messages in body.get("errors", {}).values() for message in messages)]
    assert [message for message in messages if not MESSAGE.fullmatch(message)] == []


@pytest.mark.parametrize("name", REFUSED)
def test_every_message_is_a_sentence_without_a_full_stop(api: ApiClient, name: str) -> None:
    """docs/interface.md, G4"""
    assert_manner(REFUSED[name](api), int(name[:3]))


def test_messages_about_stored_data_are_sentences_without_a_full_stop(
    api: ApiClient, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/interface.md, G4"""
    id = lead_id(api)
    make_provider_appointment(organization, external_reference="sync-1")
    statuses = [make_status(organization, "A", type="APPOINTMENT"), make_status(organization, "B", is_active=False)]
    monkeypatch.setattr("appointments.services.booking.MAX_EVENT_TYPES", 0)

    assert_manner(api.cancel(external_reference="sync-1"), 409)
    assert_manner(api.book(external_reference="new"), 400)
    for status in statuses:
        assert_manner(api.patch(f"{LEADS}/{id}/status", {"status_id": str(status.pk)}), 400)


def test_messages_about_the_key_and_the_service_are_sentences_without_a_full_stop(
    api: ApiClient, organization: Organization, stopped_clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/interface.md, G4"""

    def fail(*_: object) -> None:
        raise OperationalError

    assert_manner(make_api(organization, scopes=["read"]).book(), 403)
    with connection.execute_wrapper(fail):
        assert_manner(api.get(STATUSES), 503)
    organization.rate_limit_per_minute = 1
    organization.save()
    limited = make_api(organization)
    limited.get(STATUSES)
    assert_manner(limited.get(STATUSES), 429)


def test_a_method_that_a_path_does_not_have_is_named(api: ApiClient) -> None:
    """docs/interface.md, G6"""
    assert_error(api.request("DELETE", APPOINTMENTS), 405, 'Method "DELETE" not allowed')
    assert_error(api.request("PUT", "/api/schema"), 405, 'Method "PUT" not allowed')


def test_another_media_type_is_refused_with_the_accepted_one(api: ApiClient) -> None:
    """docs/interface.md, G6, G9"""
    response = api.request("POST", APPOINTMENTS, b"a=1", "text/" + "x" * 5_000)

    assert_error(response, 415, "Content-Type must be application/json")


ENCODING = "it must be UTF-8 without a byte order mark"
# The place where a reader of the text stops, with lines and columns from 1.
PLACES = {
    b"hello": "line 1, column 1",
    b'{"external_reference": "a",}': "line 1, column 28",
    b'{\n  "external_reference": "a"\n  "schedule_time": "b"\n}': "line 3, column 3",
    b"{\r\n  \"external_reference\": 'a'\r\n}": "line 2, column 25",
    b"{}{}": "line 1, column 3",
    '{"é": "ü" "a"}'.encode(): "line 1, column 11",
    b'{"external_reference": "a\nb"}': "line 1, column 26",
    b'{"external_reference": "\\x"}': "line 1, column 25",
    b"{" + b"\n" * 100_000: "line 100001, column 1",
    b'{\n"a": "\xff"}': f"line 2, column 7; {ENCODING}",
    '{"é": "'.encode() + b'\xff"}': f"line 1, column 8; {ENCODING}",
    '{"a": 1}'.encode("utf-16"): f"line 1, column 1; {ENCODING}",
    '{"a": 1}'.encode("utf-16-le"): f"line 1, column 2; {ENCODING}",
    b"\xef\xbb\xbf{}": f"line 1, column 1; {ENCODING}",
}


@pytest.mark.parametrize(("body", "place"), PLACES.items(), ids=[str(number) for number in range(len(PLACES))])
def test_a_body_that_is_not_json_is_refused_with_the_place(
    api: ApiClient, organization: Organization, body: bytes, place: str
) -> None:
    """docs/interface.md, G11"""
    before = snapshot_of(organization)

    response = api.request("POST", APPOINTMENTS, body)

    assert_error(response, 400, f"The request body is not valid JSON: {place}")
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e400", "1" * 5_000])
def test_a_number_that_json_does_not_have_is_refused_with_the_reason(api: ApiClient, value: str) -> None:
    """docs/interface.md, G11"""
    body = json.dumps({"external_reference": "secret"})[:-1] + f', "schedule_time": {value}}}'

    response = api.request("POST", APPOINTMENTS, body)

    assert_error(response, 400, "The request body is not valid JSON: a number is not finite or too large")


@pytest.mark.parametrize("path", ["/api/external/leads", "/api/schema", "/api", "/API/x"])
def test_the_api_says_that_a_host_is_wrong(api: ApiClient, path: str) -> None:
    """docs/interface.md, G6"""
    for host in ["evil.example", "<script>.example", ""]:
        response = api.get(path, host=host)

        assert_error(response, 400, "The Host header names a host that this service does not serve")


def test_a_page_says_that_a_host_is_wrong(db: None) -> None:
    """docs/interface.md, G6"""
    for path in ["/", "/admin/", "/admin/login/", "/nothing"]:
        response = Client().get(path, headers={"host": "evil<b>.example"})

        assert (response.status_code, response.headers["Content-Type"]) == (400, "text/html; charset=utf-8")
        assert "Wrong address" in response.content.decode()
        assert "evil" not in response.content.decode()
