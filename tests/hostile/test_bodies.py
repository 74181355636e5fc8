"""Bodies that are bad as a whole: F3 to F8, F12, F13, F23, F24 of the catalogue.

Malformed JSON, wrong media types, the limit of 1 MiB and its order among the checks are in tests/contract/test_errors.py;
bodies without an end are in test_server.py.
"""

import gzip
import json
import zlib

import pytest

from tests.contract.assertions import assert_invalid_fields, assert_unreadable_body
from tests.factories import snapshot_of
from tests.hostile.interface import CREATE, GOOD, SUBMIT, with_value
from tests.hostile.tally import Sender

MIB = 1024 * 1024
each_body = pytest.mark.parametrize("call", GOOD)


@pytest.fixture
def sender(api, measurements) -> Sender:
    return Sender(api, measurements, api.submit(email="grace@example.com").json()["data"]["lead_id"])


@pytest.fixture
def untouched(organization, sender):
    """Nothing is written meanwhile."""
    before = snapshot_of(organization)
    yield
    assert snapshot_of(organization) == before


ENCODINGS = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "utf-8-sig", "utf-7", "cp037"]
NOT_UTF_8 = {
    "lone_continuation": b"\x80",
    "overlong_slash": b"\xc0\xaf",
    "overlong_nul": b"\xc0\x80",
    "surrogate": b"\xed\xa0\x80",
    "past_unicode": b"\xf4\x90\x80\x80",
    "half_a_character": b"\xf0\x9f",
    "latin_1": b"\xe9",
    "fe": b"\xfe\xff",
}


@each_body
def test_another_encoding_is_400(untouched, sender, call):
    for encoding in ENCODINGS:
        text = json.dumps(GOOD[call] | {"unknown": "é+ +AD"}, ensure_ascii=False)
        if encoding == "utf-7":
            text = f"+AHs-{text[1:]}"  # a brace, as UTF-7 writes it
        assert_unreadable_body(
            sender.send(call, text.encode(encoding if encoding != "cp037" else "cp037", errors="replace"))
        )


@each_body
@pytest.mark.parametrize("wrong", NOT_UTF_8.values(), ids=NOT_UTF_8)
def test_bytes_that_are_no_utf_8_are_400(untouched, sender, call, wrong):
    whole = json.dumps(GOOD[call]).encode()

    assert_unreadable_body(sender.send(call, whole.replace(b'": "', b'": "' + wrong, 1)))
    assert_unreadable_body(sender.send(call, b'{"' + wrong + b'": 1, ' + whole[1:]))
    assert_unreadable_body(sender.send(call, whole + wrong))


TOP_LEVELS = [
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


@each_body
def test_a_top_level_that_is_no_object_is_400(untouched, sender, call):
    good = json.dumps(GOOD[call])
    for body in [
        *TOP_LEVELS,
        f"[{good}]",
        f"{good}{good}",
        f"{good},",
        f"[{good}",
        good[:-1],
        f"\ufeff{good}",
        f"{good}//",
        f"){'}'}]',\n{good}",
        f"a={good}",
    ]:
        assert_unreadable_body(sender.send(call, body))


@each_body
def test_a_name_given_twice_is_400_and_named(untouched, sender, call):
    name, value = next(iter(GOOD[call].items()))
    pair = f'"{name}": {json.dumps(value)}'
    escaped = f'"\\u{ord(name[0]):04x}{name[1:]}": {json.dumps(value)}'
    good = json.dumps(GOOD[call])[1:]

    for double in (pair, f'"{name}": null', escaped):
        answer = sender.send(call, f"{{{double}, {good}")
        assert_unreadable_body(answer)
        assert name in answer.json()["message"]


@pytest.mark.parametrize("path", ["traffic", "questions_answers.0"])
def test_a_name_given_twice_inside_is_400(untouched, sender, path):
    assert_unreadable_body(
        sender.send(SUBMIT, with_value(SUBMIT, path, '{"question": "Why?", "utm_term": "a", "utm_term": "b"}'))
    )


@each_body
@pytest.mark.parametrize("depth", [33, 900, 5_000, 100_000])
def test_nesting_without_end_is_400(untouched, sender, call, depth):
    good = json.dumps(GOOD[call])[:-1]

    for opening, closing in [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")]:
        core = "1" if closing[0] == "}" else ""
        assert_unreadable_body(sender.send(call, f'{good}, "unknown": {opening * depth}{core}{closing * depth}}}'))
        assert_unreadable_body(sender.send(call, f"{opening * depth}{core}{closing * depth}"))


@each_body
def test_an_unknown_field_is_ignored_however_odd(sender, call):
    good = json.dumps(GOOD[call])
    odd = [
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
    body = GOOD[call] | {name: {"a": [1, None, {"b": "c" * 100}]} for name in odd}

    _, plain, with_odd = (sender.send(call, one).status_code for one in (good, good, json.dumps(body)))

    assert with_odd == plain


@each_body
def test_a_compressed_body_is_415(untouched, sender, call):
    plain = json.dumps(GOOD[call]).encode()
    bomb = gzip.compress(b" " * 50 * MIB)

    for encoding, body in [
        ("gzip", gzip.compress(plain)),
        ("gzip", bomb),
        ("deflate", zlib.compress(plain)),
        ("br", plain),
        ("zstd", plain),
        ("gzip, gzip", plain),
    ]:
        answer = sender.send(call, body, content_encoding=encoding)
        assert (answer.status_code, answer.json()["status"]) == (415, "error")
    assert_unreadable_body(sender.send(call, gzip.compress(plain)))  # and one that doesn't say so is no JSON


ALMOST = [
    "application/jsonx",
    "application/json, text/plain",
    "text/json",
    "application/*",
    "application/vnd.api+json",
    "application/json-patch+json",
    "a/b/c",
    "/",
    ";",
]
ALMOST += [
    "application/x-www-form-urlencoded; charset=utf-8",
    "multipart/form-data",
    "text/plain;charset=UTF-8",
    "application\\json",
    "json/application",
    "\u00e9",
]


@each_body
def test_a_media_type_that_only_looks_like_json_is_415(untouched, sender, call):
    for content_type in ALMOST:
        answer = sender.send(call, json.dumps(GOOD[call]), content_type)
        assert (answer.status_code, answer.json()["status"]) == (415, "error"), content_type


@each_body
def test_a_body_over_the_limit_is_413_whatever_is_in_it(untouched, sender, call):
    for body in [
        b" " * (MIB + 1),
        b"\x00" * (2 * MIB),
        b"[" * (3 * MIB),
        json.dumps(GOOD[call]).encode().ljust(MIB + 1),
        b'{"a":"' + b"b" * 10 * MIB + b'"}',
    ]:
        answer = sender.send(call, body)
        assert (answer.status_code, answer.json()["status"]) == (413, "error")


SHORT = 5_000


def test_no_answer_grows_with_the_request(untouched, sender):
    """A refusal says what is wrong, not all that was sent."""
    long = "a" * (MIB - 1_000)
    bodies = {
        "a long name": f'{{"{long}": "\\u0000"}}',
        "a long name, twice": f'{{"{long[: MIB // 3]}": 1, "{long[: MIB // 3]}": 2}}',
        "a long value": with_value(CREATE, "external_reference", f'"{long}"'),
        "a long source": with_value(SUBMIT, "source", f'"{long}"'),
        "many answers": with_value(SUBMIT, "questions_answers", f"[{'1,' * 500_000}1]"),
        "many empty answers": with_value(SUBMIT, "questions_answers", f"[{'{},' * 250_000}{{}}]"),
        "many bad answers": with_value(SUBMIT, "questions_answers", f"[{'{},' * 49}{{}}]"),
    }

    answers = {
        what: sender.send(SUBMIT if "answers" in what or "source" in what else CREATE, body)
        for what, body in bodies.items()
    }

    assert {what: answer.status_code for what, answer in answers.items()} == dict.fromkeys(bodies, 400)
    assert [what for what, answer in answers.items() if len(answer.content) > SHORT] == []


def test_51_answers_are_too_many_whatever_they_are(untouched, sender):
    assert_invalid_fields(
        sender.send(SUBMIT, with_value(SUBMIT, "questions_answers", f"[{'1,' * 50}1]")), "questions_answers"
    )


def test_many_unknown_fields_are_read_and_ignored(sender):
    body = json.dumps(GOOD[CREATE] | {f"field {number}": number for number in range(40_000)})

    assert sender.send(CREATE, body).status_code == 201
