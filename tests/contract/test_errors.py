"""What every endpoint answers to what it can't take: interface 7, decisions 1 and 2."""

import json

import pytest
from django.db import OperationalError, connection

from tests.client import ApiClient, booking_payload, opt_in_payload
from tests.contract.assertions import assert_error, assert_invalid_fields, assert_unreadable_body
from tests.factories import make_api, snapshot_of

UNKNOWN = "00000000-0000-7000-8000-000000000000"
BODIES = {
    "POST /api/external/appointments": booking_payload(),
    "POST /api/external/appointments/cancel": {"external_reference": "ref-1"},
    "POST /api/opt-in/submit": opt_in_payload(),
    f"PATCH /api/external/leads/{UNKNOWN}/status": {"status_id": UNKNOWN},
}
METHODS = {
    "/api/external/appointments": ["GET", "POST"],
    "/api/external/appointments/cancel": ["POST"],
    f"/api/external/appointments/{UNKNOWN}": ["GET"],
    "/api/opt-in/submit": ["POST"],
    "/api/external/opt-ins": ["GET"],
    f"/api/external/opt-ins/{UNKNOWN}": ["GET"],
    "/api/external/statuses": ["GET"],
    "/api/external/leads": ["GET"],
    f"/api/external/leads/{UNKNOWN}": ["GET"],
    f"/api/external/leads/{UNKNOWN}/status": ["PATCH"],
    "/api/external/events": ["GET"],
}
MIB = 1024 * 1024
each_body = pytest.mark.parametrize("call", BODIES)


def send(api, call, body, content_type="application/json", **headers):
    method, path = call.split(" ")
    return api.request(method, path, body, content_type, **headers)


def is_error(answer, code):
    """In the error form, with a sentence."""
    assert (answer.status_code, answer.headers["Content-Type"]) == (code, "application/json")
    assert (answer.json()["status"], sorted(answer.json())) == ("error", ["message", "status"])
    assert answer.json()["message"]


@pytest.mark.parametrize("path", METHODS, ids=lambda path: path.replace(UNKNOWN, ":id"))
def test_another_method_is_405_in_the_error_form(api, path):
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PURGE"} - set(METHODS[path]):
        answer = api.request(method, path, b"{}")

        is_error(answer, 405)
        assert sorted(set(answer.headers["Allow"].split(", ")) - {"HEAD", "OPTIONS"}) == METHODS[path]


PATHS = [
    "/api/nothing",
    "/api/external/nothing",
    "/api/external/appointments/",
    "/api/external/statuses/",
    "/api/opt-in/submit/",
    "/api//external/appointments",
]
PATHS += [
    "/api/external/leads/x/status/",
    "/api/external/appointments/cancel/x",
    "/api/opt-in",
    "/api/v1/external/appointments",
    "/api/external/appointments.json",
]


@pytest.mark.parametrize(
    "path", [*PATHS, "/api/%00", "/api/%ff", "/api/<script>", "/api/" + "a" * 5000], ids=lambda path: path[:50]
)
def test_an_unknown_path_is_404_in_the_error_form(api, path):
    for method in ["GET", "POST", "PATCH", "DELETE"]:
        assert_error(api.request(method, path, b"{}"), 404, "Resource not found")


OTHER_TYPES = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "json",
    "",
    "*/*",
]


@each_body
def test_another_or_no_content_type_is_415(api, organization, call):
    before = snapshot_of(organization)

    for content_type in OTHER_TYPES:
        is_error(send(api, call, json.dumps(BODIES[call]), content_type), 415)

    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "application/json;charset=UTF-8", "Application/JSON"]
)
def test_json_with_a_charset_is_json(api, content_type):
    assert send(api, "POST /api/external/appointments", json.dumps(booking_payload()), content_type).status_code == 201


@each_body
def test_a_body_over_1_mib_is_413(api, organization, call):
    before = snapshot_of(organization)

    answer = send(api, call, json.dumps(BODIES[call]).ljust(MIB + 1))

    is_error(answer, 413)
    assert snapshot_of(organization) == before


def test_a_body_of_exactly_1_mib_is_read(api):
    assert send(api, "POST /api/external/appointments", json.dumps(booking_payload()).ljust(MIB)).status_code == 201


DEEP = 100_000
MALFORMED = {
    "empty": b"",
    "spaces": b"  ",
    "half": b'{"external_reference": "ref-1"',
    "word": b"hello",
    "single_quotes": b"{'external_reference': 'ref-1'}",
    "trailing_comma": b'{"external_reference": "ref-1",}',
    "comment": b'{"external_reference": "ref-1"} // hi',
    "two_objects": b"{}{}",
    "nan": b'{"external_reference": NaN}',
    "infinity": b'{"external_reference": Infinity}',
    "minus_infinity": b'{"external_reference": -Infinity}',
    "leading_zero": b'{"external_reference": 01}',
    "not_utf_8": b'{"external_reference": "\xff"}',
    "utf_16": '{"external_reference": "ref-1"}'.encode("utf-16"),
    "raw_newline": b'{"external_reference": "a\nb"}',
    "raw_nul": b'{"external_reference": "a\x00b"}',
    "open_arrays": b"[" * DEEP,
    "open_objects": b'{"a":' * DEEP,
    "deep_arrays": b"[" * DEEP + b"]" * DEEP,
    "deep_in_a_field": b'{"external_reference":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep_objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "array": b"[]",
    "array_of_objects": b"[{}]",
    "text": b'"ref-1"',
    "number": b"5",
    "true": b"true",
    "null": b"null",
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
def test_a_body_that_is_no_json_object_is_400(api, organization, body):
    before = snapshot_of(organization)

    for call in BODIES:
        assert_unreadable_body(send(api, call, body))

    assert snapshot_of(organization) == before


SPOILED = {
    "nul": '"a\\u0000b"',
    "nul_in_an_unknown_field": '"ref-1", "unknown": "\\u0000"',
    "nul_deep_in_an_unknown_field": '"ref-1", "unknown": [{"a": ["\\u0000"]}]',
    "nul_in_a_name": '"ref-1", "\\u0000": 1',
    "lone_surrogate": '"a\\ud800b"',
    "reversed_surrogates": '"\\udc00\\ud800"',
    "integer_of_5_000_digits": "1" * 5000,
    "negative_integer_of_5_000_digits": f"-{'1' * 5000}",
    "huge_exponent": "1e400",
}


@pytest.mark.parametrize("value", SPOILED.values(), ids=SPOILED)
def test_decision_3_what_no_text_can_hold_is_400(api, organization, value):
    before = snapshot_of(organization)

    for call in [call for call in BODIES if "leads" not in call]:
        own = [f'"{name}": {json.dumps(good)}' for name, good in BODIES[call].items() if name != "external_reference"]
        body = ", ".join([*own, f'"external_reference": {value}'])
        assert_unreadable_body(send(api, call, f"{{{body}}}"))

    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    "value",
    ["1" * 5000, "1e400", '"\\ud800"', "[" * 900 + "]" * 900],
    ids=["digits", "exponent", "surrogate", "nested"],
)
def test_an_odd_value_in_an_unknown_field_is_no_server_error(api, value):
    answer = send(
        api, "POST /api/external/appointments", json.dumps(booking_payload())[:-1] + f', "unknown": {value}}}'
    )

    assert answer.status_code in (201, 400)
    assert answer.headers["Content-Type"] == "application/json"


def test_a_field_given_twice_is_read_once(api):
    body = json.dumps(booking_payload())[:-1] + ', "external_reference": "ref-2"}'

    answer = send(api, "POST /api/external/appointments", body)

    assert answer.status_code in (201, 400)
    assert [row["external_reference"] for row in api.get_data("/api/external/appointments")] in ([], ["ref-2"])


QUERIES = ["%00", "%ff", "%ed%a0%80", "1" * 5000, "a" * 7000, "%F0%9F%8E%89", "'", "%25", "[]", "{}"]
LISTS = {
    "appointments": "page limit lead_id call_category outcome_role setter triager closer scheduled_from created_to updated_from ordering",
    "opt-ins": "page limit lead_id source created_from ordering",
    "leads": "page limit email status_id status_role setter created_from updated_to ordering",
    "events": "after type limit",
}


@pytest.mark.parametrize(
    ("name", "parameter"), [(name, parameter) for name, all in LISTS.items() for parameter in all.split()]
)
def test_no_query_is_a_server_error(api, name, parameter):
    answers = [api.request("GET", f"/api/external/{name}?{parameter}={value}") for value in QUERIES]

    assert {answer.status_code for answer in answers} <= {200, 400}
    assert {answer.headers["Content-Type"] for answer in answers} == {"application/json"}


@pytest.mark.parametrize(
    ("name", "parameter"),
    [("appointments", "closer"), ("appointments", "setter"), ("leads", "email"), ("leads", "setter")],
)
def test_decision_3_a_nul_in_a_query_is_400(api, name, parameter):
    assert_invalid_fields(api.request("GET", f"/api/external/{name}?{parameter}=a%00b"), parameter)


def test_decision_1_the_key_comes_first():
    assert_error(
        ApiClient(None).request("DELETE", "/api/external/nothing", b"{" * 2 * MIB, "text/plain"),
        401,
        "Invalid or revoked API key",
    )


def test_decision_1_the_rate_limit_comes_before_the_route(organization):
    organization.rate_limit_per_minute = 1
    organization.save()
    api = make_api(organization)
    api.get("/api/external/statuses")

    assert_error(api.request("DELETE", "/api/external/nothing", b"{" * 2 * MIB, "text/plain"), 429, "Too many requests")


def test_decision_1_the_route_and_method_come_before_the_body(api):
    assert_error(api.request("POST", "/api/external/nothing", b"{" * 2 * MIB, "text/plain"), 404, "Resource not found")
    is_error(api.request("DELETE", "/api/external/appointments", b"{" * 2 * MIB, "text/plain"), 405)


@each_body
def test_decision_1_media_type_then_size_then_parse_then_fields(api, call):
    codes = [
        send(api, call, body, kind).status_code
        for body, kind in [(b"{" * 2 * MIB, "text/plain"), (b"{" * 2 * MIB, "application/json")]
    ]

    assert codes == [415, 413]
    assert_unreadable_body(send(api, call, b"{"))
    assert send(api, call, b"{}").json()["errors"]


def away(*_):
    """The database, when nobody answers."""
    raise OperationalError("the connection is closed")


@pytest.mark.parametrize(
    "call",
    [*BODIES, *(f"GET {path}" for path, methods in METHODS.items() if "GET" in methods)],
    ids=lambda call: call.replace(UNKNOWN, ":id"),
)
def test_decision_1_without_the_database_it_is_503_with_retry_after(api, call):
    with connection.execute_wrapper(away):
        answer = send(api, call, json.dumps(BODIES.get(call)))

    is_error(answer, 503)
    assert int(answer.headers["Retry-After"]) > 0


@pytest.mark.parametrize("path", METHODS, ids=lambda path: path.replace(UNKNOWN, ":id"))
def test_head_and_options_are_never_html(api, path):
    for method in ["HEAD", "OPTIONS"]:
        answer = api.request(method, path)

        assert answer.status_code in (200, 204, 404, 405)
        assert answer.headers.get("Content-Type", "application/json") == "application/json"
