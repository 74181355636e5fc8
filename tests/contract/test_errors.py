"""Requests that are refused, and how (docs/interface.md, G1 to G18)."""

import json

import pytest
from django.db import OperationalError, connection

from tests.client import ApiClient, booking_payload, opt_in_payload
from tests.contract.assertions import assert_error, assert_error_format, assert_invalid_fields, assert_unreadable_body
from tests.factories import make_api, snapshot_of

UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
BODIES = {
    "POST /api/external/appointments": booking_payload(),
    "POST /api/external/appointments/cancel": {"external_reference": "ref-1"},
    "POST /api/opt-in/submit": opt_in_payload(),
    f"PATCH /api/external/appointments/{UNKNOWN_ID}": {"meeting_url": None},
    f"PATCH /api/external/leads/{UNKNOWN_ID}": {"last_name": None},
    f"PATCH /api/external/leads/{UNKNOWN_ID}/status": {"status_id": UNKNOWN_ID},
}
METHODS = {
    "/api/external/appointments": ["GET", "POST"],
    "/api/external/appointments/cancel": ["POST"],
    f"/api/external/appointments/{UNKNOWN_ID}": ["GET", "PATCH"],
    "/api/opt-in/submit": ["POST"],
    "/api/external/opt-ins": ["GET"],
    f"/api/external/opt-ins/{UNKNOWN_ID}": ["GET"],
    "/api/external/statuses": ["GET"],
    "/api/external/leads": ["GET", "POST"],
    f"/api/external/leads/{UNKNOWN_ID}": ["GET", "PATCH"],
    f"/api/external/leads/{UNKNOWN_ID}/status": ["PATCH"],
    "/api/external/events": ["GET"],
    "/api/external/webhook-endpoints": ["GET", "POST"],
    f"/api/external/webhook-endpoints/{UNKNOWN_ID}": ["DELETE", "GET", "PATCH"],
    "/api/external/webhook-topics": ["GET"],
    "/api/external/me": ["GET"],
    "/api/external/members": ["GET"],
    "/api/external/event-types": ["GET"],
    "/api/external/sources": ["GET"],
    "/api/external/custom-fields": ["GET"],
}
UPDATES = [name for name in BODIES if name.startswith("PATCH") and not name.endswith("status")]
MIB = 1024 * 1024
each_write = pytest.mark.parametrize("operation", BODIES)


def send(api, operation, body, content_type="application/json", **headers):
    method, path = operation.split(" ")
    return api.request(method, path, body, content_type, **headers)


@pytest.mark.parametrize("path", METHODS, ids=lambda path: path.replace(UNKNOWN_ID, ":id"))
def test_an_unsupported_method_is_405_in_the_error_form(api, path):
    """docs/interface.md, G6"""
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PURGE"} - set(METHODS[path]):
        response = api.request(method, path, b"{}")

        assert_error_format(response, 405)
        assert sorted(set(response.headers["Allow"].split(", ")) - {"HEAD", "OPTIONS"}) == METHODS[path]


UNKNOWN_PATHS = [
    "/api/nothing",
    "/api/external/nothing",
    "/api/external/appointments/",
    "/api/external/statuses/",
    "/api/opt-in/submit/",
    "/api",
    "/api/",
    "/apis",
    "/api?page=1",
    "/api.json",
    "/API/external/statuses",
    "/api//external/appointments",
    "/%2fapi/external/appointments",
    "/%2f%2fapi",
    "/api/external/leads/x/status/",
    "/api/external/appointments/cancel/x",
    "/api/opt-in",
    "/api/v1/external/appointments",
    "/api/external/appointments.json",
]


@pytest.mark.parametrize(
    "path", [*UNKNOWN_PATHS, "/api/%00", "/api/%ff", "/api/<script>", "/api/" + "a" * 5000], ids=lambda path: path[:50]
)
def test_an_unknown_path_is_404_in_the_error_form(api, path):
    """docs/interface.md, G8"""
    for method in ["GET", "POST", "PATCH", "DELETE"]:
        assert_error(api.request(method, path, b"{}"), 404, "Resource not found")
        assert_error(ApiClient(None).request(method, path, b"{}"), 401, "Invalid or revoked API key")


OTHER_MEDIA_TYPES = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "json",
    "",
    "*/*",
]


@each_write
def test_another_or_no_content_type_is_415(api, organization, operation):
    """docs/interface.md, G9"""
    before = snapshot_of(organization)

    for content_type in OTHER_MEDIA_TYPES:
        assert_error_format(send(api, operation, json.dumps(BODIES[operation]), content_type), 415)

    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", "application/json;charset=UTF-8", "Application/JSON"]
)
def test_json_with_a_charset_parameter_is_accepted(api, content_type):
    """docs/interface.md, G9"""
    assert send(api, "POST /api/external/appointments", json.dumps(booking_payload()), content_type).status_code == 201


@each_write
def test_a_body_over_1_mib_is_413(api, organization, operation):
    """docs/interface.md, G10"""
    before = snapshot_of(organization)

    response = send(api, operation, json.dumps(BODIES[operation]).ljust(MIB + 1))

    assert_error_format(response, 413)
    assert snapshot_of(organization) == before


def test_a_body_of_exactly_1_mib_is_accepted(api):
    """docs/interface.md, G10"""
    assert send(api, "POST /api/external/appointments", json.dumps(booking_payload()).ljust(MIB)).status_code == 201


# Deep enough to exhaust the stack of a parser that recurses without a limit.
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
def test_a_body_that_is_not_a_json_object_is_400(api, organization, body):
    """docs/interface.md, G11"""
    before = snapshot_of(organization)

    # An empty body is {}, with which an update changes nothing.
    for operation in BODIES if body else [name for name in BODIES if name not in UPDATES]:
        assert_unreadable_body(send(api, operation, body))

    assert snapshot_of(organization) == before


# Well-formed JSON with values that are refused wherever they occur, because they cannot be stored unchanged.
UNSTORABLE = {
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


@pytest.mark.parametrize("value", UNSTORABLE.values(), ids=UNSTORABLE)
def test_a_value_that_cannot_be_stored_is_400(api, organization, value):
    """docs/interface.md, G11, G16"""
    before = snapshot_of(organization)

    for operation in [operation for operation in BODIES if "leads" not in operation]:
        valid_fields = {name: text for name, text in BODIES[operation].items() if name != "external_reference"}
        members = [f'"{name}": {json.dumps(text)}' for name, text in valid_fields.items()]
        # Assembled by hand, because json.dumps can't produce most of these values.
        body = ", ".join([*members, f'"external_reference": {value}'])
        assert_unreadable_body(send(api, operation, f"{{{body}}}"))

    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    "value",
    ["1" * 5000, "1e400", '"\\ud800"', "[" * 900 + "]" * 900],
    ids=["digits", "exponent", "surrogate", "nested"],
)
def test_an_unusual_value_in_an_unknown_field_causes_no_server_error(api, value):
    """docs/interface.md, G14"""
    body = json.dumps(booking_payload())[:-1] + f', "unknown": {value}}}'

    response = send(api, "POST /api/external/appointments", body)

    assert response.status_code in (201, 400)
    assert response.headers["Content-Type"] == "application/json"


def test_a_repeated_field_is_never_stored_as_two_values(api):
    """docs/interface.md, G11"""
    body = json.dumps(booking_payload())[:-1] + ', "external_reference": "ref-2"}'

    response = send(api, "POST /api/external/appointments", body)

    assert response.status_code in (201, 400)
    assert [row["external_reference"] for row in api.get_data("/api/external/appointments")] in ([], ["ref-2"])


ODD_QUERY_VALUES = ["%00", "%ff", "%ed%a0%80", "1" * 5000, "a" * 7000, "%F0%9F%8E%89", "'", "%25", "[]", "{}"]
LIST_PARAMETERS = {
    "appointments": (
        "page limit lead_id call_category outcome_role setter triager closer "
        "scheduled_from created_to updated_from ordering"
    ),
    "opt-ins": "page limit lead_id source created_from ordering",
    "leads": "page limit email status_id status_role setter created_from updated_to ordering",
    "events": "after type limit",
}


@pytest.mark.parametrize(
    ("name", "parameter"),
    [(name, parameter) for name, parameters in LIST_PARAMETERS.items() for parameter in parameters.split()],
)
def test_an_unusual_query_parameter_causes_no_server_error(api, name, parameter):
    """docs/interface.md, G2"""
    responses = [api.request("GET", f"/api/external/{name}?{parameter}={value}") for value in ODD_QUERY_VALUES]

    assert {response.status_code for response in responses} <= {200, 400}
    assert {response.headers["Content-Type"] for response in responses} == {"application/json"}


@pytest.mark.parametrize(
    ("name", "parameter"),
    [("appointments", "closer"), ("appointments", "setter"), ("leads", "email"), ("leads", "setter")],
)
def test_a_nul_in_a_query_parameter_is_400(api, name, parameter):
    """docs/interface.md, G16"""
    assert_invalid_fields(api.request("GET", f"/api/external/{name}?{parameter}=a%00b"), parameter)


def test_the_key_is_checked_first():
    """docs/interface.md, G1"""
    # Wrong in every respect: no key, unknown path, too large, not JSON.
    response = ApiClient(None).request("DELETE", "/api/external/nothing", b"{" * 2 * MIB, "text/plain")

    assert_error(response, 401, "Invalid or revoked API key")


def test_the_rate_limit_is_checked_before_the_path(organization, stopped_clock):
    """docs/interface.md, G1"""
    organization.rate_limit_per_minute = 1
    organization.save()
    api = make_api(organization)
    api.get("/api/external/statuses")

    assert_error(api.request("DELETE", "/api/external/nothing", b"{" * 2 * MIB, "text/plain"), 429, "Too many requests")


def test_path_and_method_are_checked_before_the_body(api):
    """docs/interface.md, G1"""
    assert_error(api.request("POST", "/api/external/nothing", b"{" * 2 * MIB, "text/plain"), 404, "Resource not found")
    assert_error_format(api.request("DELETE", "/api/external/appointments", b"{" * 2 * MIB, "text/plain"), 405)


@each_write
def test_a_body_is_checked_for_media_type_then_size_then_syntax_then_fields(api, operation):
    """docs/interface.md, G1"""
    too_large = b"{" * 2 * MIB

    assert_error_format(send(api, operation, too_large, "text/plain"), 415)
    assert_error_format(send(api, operation, too_large, "application/json"), 413)
    assert_unreadable_body(send(api, operation, b"{"))
    assert send(api, operation, b'{"custom_fields": 5}').json()["errors"]


def raise_operational_error(*_):
    """Fail as every query does while the database server is down."""
    raise OperationalError("the connection is closed")


@pytest.mark.parametrize(
    "operation",
    [*BODIES, *(f"GET {path}" for path, methods in METHODS.items() if "GET" in methods)],
    ids=lambda operation: operation.replace(UNKNOWN_ID, ":id"),
)
def test_without_a_database_every_operation_is_503_with_retry_after(api, operation):
    """docs/interface.md, G7"""
    with connection.execute_wrapper(raise_operational_error):
        response = send(api, operation, json.dumps(BODIES.get(operation)))

    assert_error_format(response, 503)
    assert int(response.headers["Retry-After"]) > 0


@pytest.mark.parametrize("path", METHODS, ids=lambda path: path.replace(UNKNOWN_ID, ":id"))
def test_head_and_options_are_never_html(api, path):
    """docs/interface.md, G2, G8"""
    for method in ["HEAD", "OPTIONS"]:
        response = api.request(method, path)

        assert response.status_code in (200, 204, 404, 405)
        assert response.headers.get("Content-Type", "application/json") == "application/json"
