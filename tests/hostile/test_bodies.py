"""Request bodies that are invalid as a whole (docs/guarantees.md, F3 to F8, F12, F13, F23, F24).

Malformed JSON, wrong media types, the limit of 1 MiB and its place in the order of checks are tested in
tests/contract/test_errors.py; unending bodies in test_server.py.
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from functools import cache

import pytest

from organizations.models import Organization
from tests.contract.assertions import assert_invalid_fields, assert_unreadable_body
from tests.factories import snapshot_of
from tests.hostile.conftest import SharedOperations
from tests.hostile.input_counter import OperationClient
from tests.hostile.openapi import CREATE, SUBMIT, VALID_BODIES, body_schemas, body_with

MIB = 1024 * 1024
each_operation = pytest.mark.parametrize("operation", VALID_BODIES)


@pytest.fixture
def organization(shared_operations: SharedOperations, db: None) -> Organization:
    """Acme, whose rows the tests of this file share."""
    return Organization.objects.get(pk=shared_operations.organization_id)


@pytest.fixture
def nothing_changes(
    request: pytest.FixtureRequest, organization: Organization, operation_client: OperationClient
) -> Iterator[None]:
    """Assert that the test changes no row of the organization."""
    if "operation" in request.fixturenames:
        operation_client.path_of(request.getfixturevalue("operation"))
    before = snapshot_of(organization)
    yield
    assert snapshot_of(organization) == before


ENCODINGS = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "utf-8-sig", "utf-7", "cp037"]
INVALID_UTF_8 = {
    "lone_continuation": b"\x80",
    "overlong_slash": b"\xc0\xaf",
    "overlong_nul": b"\xc0\x80",
    "surrogate": b"\xed\xa0\x80",
    "past_unicode": b"\xf4\x90\x80\x80",
    "half_a_character": b"\xf0\x9f",
    "latin_1": b"\xe9",
    "fe": b"\xfe\xff",
}


@each_operation
def test_an_encoding_other_than_utf_8_is_400(nothing_changes, operation_client, operation):
    for encoding in ENCODINGS:
        text = json.dumps(VALID_BODIES[operation] | {"unknown": "é+ +AD"}, ensure_ascii=False)
        if encoding == "utf-7":
            # Python's codec leaves "{" as it is, and the body would be valid UTF-8.
            text = f"+AHs-{text[1:]}"

        response = operation_client.send(operation, text.encode(encoding, errors="replace"))

        assert_unreadable_body(response)


@each_operation
@pytest.mark.parametrize("invalid_bytes", INVALID_UTF_8.values(), ids=INVALID_UTF_8)
def test_invalid_utf_8_is_400(nothing_changes, operation_client, operation, invalid_bytes):
    body = json.dumps(VALID_BODIES[operation]).encode()

    in_a_value = operation_client.send(operation, body.replace(b'": "', b'": "' + invalid_bytes, 1))
    in_a_name = operation_client.send(operation, b'{"' + invalid_bytes + b'": 1, ' + body[1:])
    at_the_end = operation_client.send(operation, body + invalid_bytes)

    for response in (in_a_value, in_a_name, at_the_end):
        assert_unreadable_body(response)


NOT_OBJECTS = [
    "[]",
    "[[]]",
    "[{}]",
    '"a"',
    '""',
    "0",
    "-1.5",
    "true",
    "false",
    "null",
    "[null]",
    "",
    " ",
    "\n",
    "{",
    "}",
    "{}{}",
    "{},",
    "{}]",
    "\x00",
    "{}\x00",
]


@each_operation
def test_a_body_that_is_not_an_object_is_400(nothing_changes, operation_client, operation):
    valid = json.dumps(VALID_BODIES[operation])
    almost_valid = [
        f"[{valid}]",
        f"{valid}{valid}",
        f"{valid},",
        f"[{valid}",
        valid[:-1],
        f"\ufeff{valid}",
        f"{valid}//",
        f"){'}'}]',\n{valid}",
        f"a={valid}",
    ]

    for body in [*NOT_OBJECTS, *almost_valid]:
        if body or "required" in body_schemas()[operation]:  # to these, no body is no change
            assert_unreadable_body(operation_client.send(operation, body))


@each_operation
def test_a_duplicate_key_is_400_and_named(nothing_changes, operation_client, operation):
    name, value = next(iter(VALID_BODIES[operation].items()))
    valid_members = json.dumps(VALID_BODIES[operation])[1:]
    same = f'"{name}": {json.dumps(value)}'
    null = f'"{name}": null'
    escaped = f'"\\u{ord(name[0]):04x}{name[1:]}": {json.dumps(value)}'

    for duplicate in (same, null, escaped):
        response = operation_client.send(operation, f"{{{duplicate}, {valid_members}")

        assert_unreadable_body(response)
        assert name in response.json()["message"]


@pytest.mark.parametrize("path", ["traffic", "questions_answers.0"])
def test_a_duplicate_key_in_a_nested_object_is_400(nothing_changes, operation_client, path):
    nested = '{"question": "Why?", "utm_term": "a", "utm_term": "b"}'

    assert_unreadable_body(operation_client.send(SUBMIT, body_with(SUBMIT, path, nested)))


@each_operation
@pytest.mark.parametrize("depth", [33, 900, 5_000, 100_000])
def test_deep_nesting_is_400(nothing_changes, operation_client, operation, depth):
    valid = json.dumps(VALID_BODIES[operation])[:-1]

    for opening, closing in [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")]:
        innermost = "1" if closing[0] == "}" else ""
        nested = f"{opening * depth}{innermost}{closing * depth}"

        assert_unreadable_body(operation_client.send(operation, f'{valid}, "unknown": {nested}}}'))
        assert_unreadable_body(operation_client.send(operation, nested))


UNKNOWN_NAMES = [
    "__proto__",
    "constructor",
    "__class__",
    "",
    " ",
    "a.b",
    "$where",
    "id",
    "organization",
    "organization_id",
    "data",
    "🎉",
    "a" * 1000,
    "0",
    "@context",
]


@each_operation
def test_unknown_fields_are_ignored_whatever_their_names(operation_client, operation):
    valid = json.dumps(VALID_BODIES[operation])
    unknown = {name: {"a": [1, None, {"b": "c" * 100}]} for name in UNKNOWN_NAMES}

    # A repeated booking is a 200 instead of a 201, so the comparison is with the second response.
    operation_client.send(operation, valid)
    expected = operation_client.send(operation, valid)
    response = operation_client.send(operation, json.dumps(VALID_BODIES[operation] | unknown))

    assert response.status_code == expected.status_code


@cache
def zip_bomb() -> bytes:
    return gzip.compress(b" " * 50 * MIB)


@each_operation
def test_a_compressed_body_is_415(nothing_changes, operation_client, operation):
    plain = json.dumps(VALID_BODIES[operation]).encode()
    compressed = [
        ("gzip", gzip.compress(plain)),
        ("gzip", zip_bomb()),
        ("deflate", zlib.compress(plain)),
        ("br", plain),
        ("zstd", plain),
        ("gzip, gzip", plain),
    ]

    for encoding, body in compressed:
        response = operation_client.send(operation, body, content_encoding=encoding)

        assert (response.status_code, response.json()["status"]) == (415, "error")

    # Without the header, a compressed body is just invalid JSON.
    assert_unreadable_body(operation_client.send(operation, gzip.compress(plain)))


NOT_QUITE_JSON = [
    "application/jsonx",
    "application/json, text/plain",
    "text/json",
    "application/*",
    "application/vnd.api+json",
    "application/json-patch+json",
    "a/b/c",
    "/",
    ";",
    "application/x-www-form-urlencoded; charset=utf-8",
    "multipart/form-data",
    "text/plain;charset=UTF-8",
    "application\\json",
    "json/application",
    "\u00e9",
]


@each_operation
def test_a_media_type_that_only_looks_like_json_is_415(nothing_changes, operation_client, operation):
    for content_type in NOT_QUITE_JSON:
        response = operation_client.send(operation, json.dumps(VALID_BODIES[operation]), content_type)

        assert (response.status_code, response.json()["status"]) == (415, "error"), content_type


@each_operation
def test_a_body_over_the_limit_is_413_whatever_it_contains(nothing_changes, operation_client, operation):
    too_large = [
        b" " * (MIB + 1),
        b"\x00" * (2 * MIB),
        b"[" * (3 * MIB),
        json.dumps(VALID_BODIES[operation]).encode().ljust(MIB + 1),
        b'{"a":"' + b"b" * 10 * MIB + b'"}',
    ]

    for body in too_large:
        response = operation_client.send(operation, body)

        assert (response.status_code, response.json()["status"]) == (413, "error")


MAX_ERROR_BYTES = 5_000


def test_no_response_grows_with_the_request(nothing_changes, operation_client):
    """An error says what is wrong and doesn't repeat everything that was sent."""
    long = "a" * (MIB - 1_000)
    half = long[: MIB // 3]
    requests = {
        "a long name": (CREATE, f'{{"{long}": "\\u0000"}}'),
        "a long name, twice": (CREATE, f'{{"{half}": 1, "{half}": 2}}'),
        "a long value": (CREATE, body_with(CREATE, "external_reference", f'"{long}"')),
        "a long source": (SUBMIT, body_with(SUBMIT, "source", f'"{long}"')),
        "many answers": (SUBMIT, body_with(SUBMIT, "questions_answers", f"[{'1,' * 500_000}1]")),
        "many empty answers": (SUBMIT, body_with(SUBMIT, "questions_answers", f"[{'{},' * 250_000}{{}}]")),
        "many invalid answers": (SUBMIT, body_with(SUBMIT, "questions_answers", f"[{'{},' * 49}{{}}]")),
    }

    responses = {name: operation_client.send(operation, body) for name, (operation, body) in requests.items()}

    assert {name: response.status_code for name, response in responses.items()} == dict.fromkeys(requests, 400)
    assert [name for name, response in responses.items() if len(response.content) > MAX_ERROR_BYTES] == []


def test_51_question_answers_are_400_whatever_they_contain(nothing_changes, operation_client):
    response = operation_client.send(SUBMIT, body_with(SUBMIT, "questions_answers", f"[{'1,' * 50}1]"))

    assert_invalid_fields(response, "questions_answers")


def test_40_000_unknown_fields_are_ignored(operation_client):
    unknown = {f"field {number}": number for number in range(40_000)}

    response = operation_client.send(CREATE, json.dumps(VALID_BODIES[CREATE] | unknown))

    assert response.status_code == 201
