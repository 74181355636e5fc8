"""Request bodies: strict JSON of limited size and depth (docs/interface.md, G9 to G11 and G16).

Anyone with a key can send a body that is cheap to send and dear to check: a mebibyte of brackets, names, digits or
escapes. So no check runs Python code for each item. Python's own parser does the work, in C; Python code runs once for
each object and each float, and everything else is one call for the whole body. `make bench` compares the result with
`json.loads`, and `tests/hostile/test_parsing_cost.py` counts the steps.
"""

import gc
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]  # the stubs lack it
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser

from foundation.api.exceptions import MAX_QUOTED_NAME, BodyTooLarge, ValidationFailed

ENCODING = "it must be UTF-8 without a byte order mark"
MAX_DEPTH = 32
MAX_SEARCHED = 1_000  # values that are searched for the one to name in an error message


class StrictJsonParser(BaseParser):
    """Parses `application/json` in UTF-8. The top level must be an object."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        request = (parser_context or {})["request"]
        # Compressed bodies are refused: a few bytes could unpack to gigabytes.
        encoding = request.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            raise UnsupportedMediaType(encoding, "Content-Encoding is not supported; send the body as it is")
        length = request.META.get("CONTENT_LENGTH") or ""
        if length.isdecimal() and int(length) > settings.BODY_LIMIT:
            raise BodyTooLarge
        # A chunked body has no Content-Length.
        body = stream.read(settings.BODY_LIMIT + 1)
        if len(body) > settings.BODY_LIMIT:
            raise BodyTooLarge
        return parse_json(body) if body else {}


def parse_json(body: bytes) -> dict[str, Any]:
    """Return the fields of a JSON object.

    Raises ParseError (400) unless the body is valid by RFC 8259, is an object and is not nested too deeply;
    ValidationFailed (400) if a text in it can't be stored.
    """
    try:
        text = body.decode()
        data = DECODER.decode(text)
    except RecursionError:
        raise ParseError("The request body is nested too deeply") from None
    except ValueError as error:
        raise ParseError(f"The request body is not valid JSON: {describe_error(error)}") from None
    if not isinstance(data, dict):
        raise ParseError("The request body must be a JSON object")
    if is_too_deep(data):
        raise ParseError("The request body is nested too deeply")
    if has_unstorable_escape(text):
        raise ValidationFailed(unstorable_error(data))
    return data


def describe_error(error: ValueError) -> str:
    """Return the place of the syntax error, as line and column from 1, or the reason. Quotes no values."""
    if isinstance(error, UnicodeDecodeError):
        *lines, last_line = error.object[: error.start].split(b"\n")
        return f"line {len(lines) + 1}, column {len(last_line.decode()) + 1}; {ENCODING}"
    if isinstance(error, JSONDecodeError):
        # NUL there: UTF-16 without a byte order mark.
        is_encoding = error.pos < 2 and error.doc.startswith(("\ufeff", "\0"), error.pos)
        return f"line {error.lineno}, column {error.colno}" + (f"; {ENCODING}" if is_encoding else "")
    return "a number is not finite or too large"


def reject_duplicate_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if not pairs:
        return {}
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    # Either value could be the one that the sender means.
    [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
    raise ParseError(f"The request body is not valid JSON: {name[:MAX_QUOTED_NAME]!a} is there twice")


def reject_constant(name: str) -> None:
    raise ValueError(name)


def parse_finite_float(digits: str) -> float:
    value = float(digits)
    if -math.inf < value < math.inf:
        return value
    raise ValueError(digits[:20])


# Python's parser also accepts NaN, infinite numbers and duplicate keys; these three functions refuse them.
DECODER = json.JSONDecoder(
    object_pairs_hook=reject_duplicate_keys, parse_constant=reject_constant, parse_float=parse_finite_float
)


def is_too_deep(data: object) -> bool:
    level = [data]
    for _ in range(MAX_DEPTH):
        # The items of all lists and dicts of a level, in one call; numbers and texts refer to nothing.
        level = gc.get_referents(*level)
        if not level:
            return False
    return not {list, dict}.isdisjoint(map(type, level))


def has_unstorable_escape(text: str) -> bool:
    """Return whether a valid JSON text has a NUL or an unpaired surrogate, which PostgreSQL can't store.

    Strict UTF-8 and strict JSON have neither, except as an escape.
    """
    if "\\" not in text:
        return False
    # Resolves the escapes of the whole text in one call, by taking it for a single string. A slash in place of each
    # quotation mark keeps that string together: it may follow a backslash, and separates surrogates as a quote does.
    resolved, _ = scanstring(text.replace('"', "/") + '"', 0, False)
    return "\0" in resolved or not is_encodable(resolved)


def is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def unstorable_error(data: dict[str, Any]) -> dict[str, list[str]]:
    """Return the error of the first text that can't be stored. It names the field if that is found soon enough."""
    error = "must not contain NUL or unpaired surrogate characters"
    for path, text, is_name in islice(iterate_texts(data), MAX_SEARCHED):
        if "\0" in text or not is_encodable(text):
            # An error about a name must not quote it.
            return {path or "body": [f"{error} in a name" if is_name else error]}
    return {"body": [error]}


def iterate_texts(value: object, path: str = "") -> Iterator[tuple[str, str, bool]]:
    """Yield every value and every name inside, in order: its path, its text if it is one, and whether it is a name."""
    yield path, value if isinstance(value, str) else "", False
    if not isinstance(value, dict | list):
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(key, str):
            yield path, key, True
        name = str(key)[:MAX_QUOTED_NAME]
        yield from iterate_texts(item, f"{path}.{name}" if path else name)
