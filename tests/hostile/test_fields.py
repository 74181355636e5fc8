"""Every field of every body, with every value that it must not have: F1, F2, F9 to F21, F25, F28, F36 of the catalogue.

The fields come from the OpenAPI document. What single fields accept and refuse by their own rules is in
tests/contract/create, tests/contract/submit, tests/contract/test_cancel.py and tests/contract/test_timestamps.py.
"""

import pytest

from tests.contract.assertions import assert_invalid_fields, assert_unreadable_body
from tests.factories import snapshot_of
from tests.hostile.interface import CANCEL, CREATE, GOOD, UNKNOWN, Field, bodies, fields, with_value
from tests.hostile.tally import Sender

WRONG = {
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
    "array": ['"a"', "5", "0", "true", "false", "{}", '{"0":{}}', '{"question":"Why?"}'],
    "object": ['"a"', "5", "0", "true", "false", "[]", '["utm_source"]', "[[]]"],
}
UNSTORABLE = ['"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"a\\udfff"', '"\\udc00\\ud800"', '"\\ud83c\\ud83c"']
UNREADABLE = [
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
    "uri": [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "ftp://a.example",
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
        UNKNOWN.replace("-", ""),
        f"{{{UNKNOWN}}}",
        f"urn:uuid:{UNKNOWN}",
        UNKNOWN[:-1],
        f"{UNKNOWN}0",
        f" {UNKNOWN}",
        f"{UNKNOWN}\\n",
        UNKNOWN.replace("0", "\\uff10"),
        UNKNOWN.replace("0", "o", 1),
        "' OR 1=1 --",
        "../" + UNKNOWN,
    ],
    "date-time": [
        "2016-12-31T23:59:60Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "1969-12-31T23:59:59.999-00:00",
        "2101-01-01T00:00:00+00:00",
        "2027-01-05T10:00:00z",
        "2027-01-05t10:00:00Z",
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
NOTHING = ["null", '""', '" "', '"\\t\\r\\n"', '"\\u3000"', '"\\u2003\\u00a0"', '"\\u001f"']
EITHER = {"lead_email", "event_type_name"}
ALL = fields()
each_field = pytest.mark.parametrize("field", ALL, ids=str)


@pytest.fixture
def sender(api, measurements) -> Sender:
    """Acme's integrator, with a lead to move and a booking to cancel."""
    api.book(external_reference="ref-0")
    return Sender(api, measurements, api.submit(email="grace@example.com").json()["data"]["lead_id"])


@pytest.fixture
def refuses(sender, organization):
    """Each of these values in the field's place is a 400 that names the field and changes nothing."""

    def check(field: Field, values: list[str], expect=assert_invalid_fields) -> None:
        before = snapshot_of(organization)
        for value in values:
            answer = sender.send(field.call, with_value(field.call, field.path, value))
            expect(answer, field.path) if expect is assert_invalid_fields else expect(answer)
        assert snapshot_of(organization) == before

    return check


def test_every_body_has_a_good_one():
    assert set(GOOD) == set(bodies())


def test_every_field_has_wrong_and_malformed_values():
    assert {field.kind for field in ALL} <= set(WRONG)
    assert {field.format for field in ALL} <= set(MALFORMED)


@each_field
def test_another_type_is_refused(refuses, field):
    refuses(field, WRONG[field.kind])


@each_field
def test_a_malformed_value_is_refused(refuses, field):
    refuses(field, [f'"{text}"' for text in MALFORMED[field.format] if text.strip() or is_required(field)])


def text_fields():
    """Those of strings."""
    return [field for field in ALL if field.kind == "string"]


@pytest.mark.parametrize("field", text_fields(), ids=str)
def test_what_no_text_can_hold_is_refused(refuses, field):
    refuses(field, UNSTORABLE)


@each_field
def test_what_is_no_json_is_refused(refuses, field):
    refuses(field, UNREADABLE, expect=assert_unreadable_body)


@pytest.mark.parametrize("field", [field for field in ALL if "maxLength" in field.schema], ids=str)
def test_one_character_too_many_is_refused(refuses, field):
    longest = field.schema["maxLength"]

    refuses(field, [f'"{letter * (longest + 1)}"' for letter in ("a", "é", "🎉", "\\ud83c\\udf89")])


FREE = [field for field in text_fields() if not field.format and field.path not in ("phone_e164", "phone_country")]


@pytest.mark.parametrize("field", FREE, ids=str)
def test_the_longest_text_is_taken(sender, field):
    for letter in ("a", "é", "🎉"):
        text = letter * field.schema["maxLength"]
        answer = sender.send(field.call, with_value(field.call, field.path, f'"{text}"'))

        # A long reference is another one: nothing is booked under it.
        assert answer.status_code in (
            {404} if (field.call, field.path) == (CANCEL, "external_reference") else {200, 201}
        ), answer.json()


def is_required(field: Field) -> bool:
    """Whether the body is refused without it."""
    schema = bodies()[field.call]
    if field.path.startswith("questions_answers.1."):
        return field.path.endswith(".question")
    return field.path in schema.get("required", []) or (field.call == CREATE and field.path in EITHER)


@pytest.mark.parametrize("field", [field for field in ALL if is_required(field)], ids=str)
def test_a_required_field_given_as_nothing_is_required(sender, organization, field):
    before = snapshot_of(organization)

    for nothing in NOTHING:
        answer = sender.send(field.call, with_value(field.call, field.path, nothing))

        assert_invalid_fields(answer, field.path)
        assert answer.json()["message"].startswith(f"{field.path} is required")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("field", [field for field in ALL if not is_required(field)], ids=str)
def test_an_optional_field_given_as_nothing_is_absent(sender, field):
    for nothing in NOTHING:
        assert sender.send(field.call, with_value(field.call, field.path, nothing)).status_code in {200, 201}


@pytest.mark.parametrize("call", GOOD)
def test_a_body_of_nothing_but_wrong_fields_names_them_all(sender, call):
    own = [field.path for field in ALL if field.call == call and "." not in field.path]

    answer = sender.send(call, "{" + ", ".join(f'"{name}": 5' for name in own) + "}")

    assert_invalid_fields(answer, *own)
