"""Every field of every body, with invalid values (docs/guarantees.md, F1, F2, F9 to F21, F25, F28, F36).

The fields come from the OpenAPI document. What single fields accept and refuse by rules of their own is tested in
tests/contract/create, tests/contract/submit, tests/contract/test_cancel.py and tests/contract/test_timestamps.py.
"""

from collections.abc import Callable

import pytest

from organizations.models import Organization
from tests.contract.assertions import assert_invalid_fields, assert_unreadable_body
from tests.factories import snapshot_of
from tests.hostile.conftest import SharedOperations
from tests.hostile.input_counter import OperationClient
from tests.hostile.openapi import (
    CANCEL,
    CREATE,
    PUT_ANALYSIS,
    REPLAY,
    RESCHEDULE,
    SET_LEAD_STATUS,
    UNKNOWN_ID,
    VALID_BODIES,
    BodyField,
    body_fields,
    body_schemas,
    body_with,
)

AssertRefused = Callable[[BodyField, list[str]], None]

# JSON texts that a field of this type must refuse.
WRONG_TYPES = {
    "string": [
        "5",
        "0",
        "-1",
        "1.5",
        "1e3",
        "1e15",
        "9" * 400,
        "true",
        "false",
        "[]",
        "{}",
        '["a"]',
        '{"a":"b"}',
        "[[]]",
        "[null]",
    ],
    "boolean": ['"true"', '"false"', '"yes"', "0", "1", "[]", "{}", "[true]", '{"a": true}'],
    "integer": [
        '"5"',
        '"1"',
        "5.0",
        "1.5",
        "1e1",
        "0.1",
        "true",
        "false",
        "[]",
        "{}",
        "[1]",
        '{"a":1}',
        "0",
        "-0",
        "-1",
        "9" * 400,
        "2147483648",
    ],
    "number": ['"5"', '"0.5"', "-1", "1.5", "9" * 400, "true", "false", "[]", "[0.5]", "{}"],
    "array": ['"a"', "5", "0", "true", "false", "{}", '{"0":{}}', '{"question":"Why?"}'],
    "object": ['"a"', "5", "0", "true", "false", "[]", '["utm_source"]', "[[]]"],
}
# PostgreSQL can store neither NUL nor half of a surrogate pair.
UNSTORABLE = ['"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"a\\udfff"', '"\\udc00\\ud800"', '"\\ud83c\\ud83c"']
# Texts that make the whole body invalid JSON, or a number too large to be read.
INVALID_JSON = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "-1e400",
    "1" * 5000,
    "-" + "1" * 5000,
    "01",
    "+1",
    ".5",
    "0x10",
    "'a'",
    "undefined",
    '"\\x"',
    '"\t"',
    "[",
]
# Texts of the wrong form, as written between the quotes of a JSON string.
MALFORMED = {
    "email": [
        "ada",
        "@",
        "a@b",
        "a@@b.c",
        "a@b.c, d@e.f",
        "<a@b.c>",
        "a@b..c",
        "a b@c.de",
        "a@b.c\\r\\nBcc: d@e.f",
        "a@b\\u2028.c",
        "a@\\u202eb.c",
        '\\"\\u001b[31m\\"@b.cd',
        "a\\u200b@b.cd",
        "mailto:a@b.cd",
        "a@b.c%0a",
        ".a@b.cd",
        "a@-b.cd",
        "a@b.c_d",
        "\\u0000@b.cd",
    ],
    "double": [],
    "uri": [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://a.example",
        "https://zoom/j/1",
        "gopher://a.example",
        "//a.example",
        "http://",
        "https:///a",
        "http:a.example",
        "https://a b.example",
        "https://a.example/\\u001b[31m",
        "https://a.example/\\u202e",
        "https://a\\u2028.example",
        "http://a.example\\\\@b.example",
        'https://a.example/\\"onclick=x',
        "https://a.example/<script>",
        "https://[::g]/",
        "http://[",
        "https://a.example\\r\\nX: y",
    ],
    "uuid": [
        "5",
        "true",
        "nonsense",
        UNKNOWN_ID.replace("-", ""),
        f"{{{UNKNOWN_ID}}}",
        f"urn:uuid:{UNKNOWN_ID}",
        UNKNOWN_ID[:-1],
        f"{UNKNOWN_ID}0",
        f" {UNKNOWN_ID}",
        f"{UNKNOWN_ID}\\n",
        UNKNOWN_ID.replace("0", "\\uff10"),
        UNKNOWN_ID.replace("0", "o", 1),
        "' OR 1=1 --",
        "../" + UNKNOWN_ID,
    ],
    "date-time": [
        "2016-12-31T23:59:60Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "1969-12-31T23:59:59.999-00:00",
        "2101-01-01T00:00:00+00:00",
        "2027-01-05T10Z",
        "2027-01-05t24:00z",
        "2027-01-05T10:00:00+24:00",
        "2027-01-05T10:00:00\\u2212 02:00",
        "2027-01-05T10:00:00Z\\u0000",
        "2027-W01-2",
    ],
    "enum": [
        "",
        " ",
        "manual",
        "MANUAL ",
        " MANUAL",
        "SCHEDULER_B",
        "MANUAL,OTHER",
        "MANUAL\\n",
        "\\u041cANUAL",
        "None",
        "null",
        "*",
    ],
    "": [],
}
BLANK = ["null", '""', '" "', '"\\t\\r\\n"', '"\\u3000"', '"\\u2003\\u00a0"', '"\\u001f"']
# The document doesn't call these two required, because an id may replace them.
REQUIRED_WITHOUT_AN_ID = {"lead_email", "event_type_name"}


def is_required(field: BodyField) -> bool:
    """Return True if the body is refused without the field."""
    if field.path.startswith("questions_answers.1."):
        return field.path.endswith(".question")
    if field.path in ("match.host_email", "match.started_at", "lead.email"):
        return True
    if field.operation == CREATE and field.path in REQUIRED_WITHOUT_AN_ID:
        return True
    if (field.operation, field.path) == (REPLAY, "since"):
        return True
    return field.path in body_schemas()[field.operation].get("required", [])


def can_be_cleared(field: BodyField) -> bool:
    """Return False for a field of an update that must not be null."""
    if field.path.endswith(".1"):
        return False  # an item of a list
    return (
        not field.operation.startswith("PATCH") or field.operation == SET_LEAD_STATUS or "null" in field.schema["type"]
    )


FIELDS = body_fields()
TEXT_FIELDS = [field for field in FIELDS if field.type == "string"]
FREE_TEXT_FIELDS = [
    field
    for field in TEXT_FIELDS
    if not field.format
    and field.path not in ("phone_e164", "phone_country", "topics.1")
    and "maxLength" in field.schema
]
REQUIRED_FIELDS = [field for field in FIELDS if is_required(field)]
OPTIONAL_FIELDS = [field for field in FIELDS if not is_required(field) and can_be_cleared(field)]
KEPT_FIELDS = [field for field in FIELDS if not can_be_cleared(field)]
STRICT_FIELDS = [field for field in FIELDS if not field.accepts_anything]
each_field = pytest.mark.parametrize("field", FIELDS, ids=str)


@pytest.fixture
def organization(shared_operations: SharedOperations, db: None) -> Organization:
    """Acme, whose rows the tests of this file share."""
    return Organization.objects.get(pk=shared_operations.organization_id)


@pytest.fixture
def assert_refused(operation_client: OperationClient, organization: Organization) -> AssertRefused:
    """Return an assertion that each value of a field is a 400 that names the field and changes nothing."""

    def check(field: BodyField, values: list[str]) -> None:
        operation_client.path_of(field.operation)
        before = snapshot_of(organization)
        for value in values:
            response = operation_client.send(field.operation, body_with(field.operation, field.path, value))
            assert_invalid_fields(response, field.path)
        assert snapshot_of(organization) == before

    return check


def test_every_operation_with_a_body_has_a_valid_body_here():
    assert set(VALID_BODIES) == set(body_schemas())


def test_every_type_and_format_has_invalid_values_here():
    assert {field.type for field in FIELDS} <= set(WRONG_TYPES)
    assert {field.format for field in FIELDS} <= set(MALFORMED)


@pytest.mark.parametrize("field", STRICT_FIELDS, ids=str)
def test_a_value_of_another_type_is_400(assert_refused, field):
    assert_refused(field, WRONG_TYPES[field.type])


@pytest.mark.parametrize("field", [field for field in FIELDS if field.accepts_anything], ids=str)
def test_a_side_fact_of_any_type_and_length_is_accepted(operation_client, field):
    long_list = f'["{"a" * 10_000}", {"{}," * 10_000} null]' if "maxLength" not in field.schema else "[[], {}]"
    values = {value for values in WRONG_TYPES.values() for value in values} | {long_list}

    for value in values:
        response = operation_client.send(field.operation, body_with(field.operation, field.path, value))

        assert response.status_code in {200, 201}, (value[:50], response.json())


@each_field
def test_a_malformed_value_is_400(assert_refused, field):
    # A blank value is malformed only in a required field; in an optional one it counts as absent.
    is_blank_refused = is_required(field) or not can_be_cleared(field)
    assert_refused(field, [f'"{text}"' for text in MALFORMED[field.format] if text.strip() or is_blank_refused])


@pytest.mark.parametrize("field", TEXT_FIELDS, ids=str)
def test_nul_and_lone_surrogates_are_400(assert_refused, field):
    assert_refused(field, UNSTORABLE)


@each_field
def test_invalid_json_in_a_field_is_400(operation_client, organization, field):
    operation_client.path_of(field.operation)
    before = snapshot_of(organization)

    for value in INVALID_JSON:
        response = operation_client.send(field.operation, body_with(field.operation, field.path, value))

        assert_unreadable_body(response)

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("field", [field for field in FIELDS if "maxLength" in field.schema], ids=str)
def test_one_character_over_the_maximum_length_is_400(assert_refused, field):
    too_long = field.schema["maxLength"] + 1

    assert_refused(field, [f'"{character * too_long}"' for character in ("a", "é", "🎉", "\\ud83c\\udf89")])


@pytest.mark.parametrize("field", FREE_TEXT_FIELDS, ids=str)
def test_a_text_of_the_maximum_length_is_accepted(operation_client, field):
    # These accept the long reference as well, and then find no booking with it.
    is_unknown = field.operation in (CANCEL, RESCHEDULE, PUT_ANALYSIS) and field.path == "external_reference"
    expected = {404} if is_unknown else {200, 201}

    for character in ("a", "é", "🎉"):
        text = character * field.schema["maxLength"]
        response = operation_client.send(field.operation, body_with(field.operation, field.path, f'"{text}"'))

        assert response.status_code in expected, response.json()


@pytest.mark.parametrize("field", REQUIRED_FIELDS, ids=str)
def test_a_blank_required_field_is_400(operation_client, organization, field):
    operation_client.path_of(field.operation)
    before = snapshot_of(organization)

    for value in BLANK:
        response = operation_client.send(field.operation, body_with(field.operation, field.path, value))

        assert_invalid_fields(response, field.path)
        assert response.json()["message"].startswith(f"{field.path} is required")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("field", KEPT_FIELDS, ids=str)
def test_a_blank_field_that_cannot_be_cleared_is_400(assert_refused, field):
    assert_refused(field, BLANK)


@pytest.mark.parametrize("field", OPTIONAL_FIELDS, ids=str)
def test_a_blank_optional_field_counts_as_absent(operation_client, field):
    # Without the reference, the match is looked for.
    is_looked_for = (field.operation, field.path) == (PUT_ANALYSIS, "external_reference")
    for value in BLANK:
        response = operation_client.send(field.operation, body_with(field.operation, field.path, value))

        assert response.status_code in ({404} if is_looked_for else {200, 201})


@pytest.mark.parametrize("operation", VALID_BODIES)
def test_all_invalid_fields_are_named_at_once(operation_client, operation):
    names = [field.path for field in STRICT_FIELDS if field.operation == operation and "." not in field.path]

    response = operation_client.send(operation, "{" + ", ".join(f'"{name}": -1' for name in names) + "}")

    assert_invalid_fields(response, *names)
