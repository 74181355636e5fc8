"""Request bodies: strict JSON of limited size and depth (docs/interface.md, G9 to G11 and G16)."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser

from pipeline_backend.api.exceptions import BodyTooLarge, ValidationFailed

MAX_DEPTH = 32
MAX_QUOTED_NAME = 64  # of a field's name in an error message, which would otherwise be as long as the request
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")  # characters that PostgreSQL refuses


class StrictJsonParser(BaseParser):
    """Parses `application/json` in UTF-8. The top level must be an object."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return the body's fields; raises a 400, 413 or 415."""
        request = (parser_context or {})["request"]
        # Compressed bodies are refused: a few bytes could unpack to gigabytes.
        encoding = request.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            raise UnsupportedMediaType(encoding, "Content-Encoding is not supported; send the body as it is")
        body = read_body(stream, request.META.get("CONTENT_LENGTH"))
        if not body:
            return {}
        data = parse_json(body)
        if not isinstance(data, dict):
            raise ParseError("The request body must be a JSON object")
        for path, error in find_unstorable(data):
            raise ValidationFailed({path: [error]})  # the first one is enough
        return data


def read_body(stream: IO[bytes], content_length: str | None) -> bytes:
    """Return the body; raises BodyTooLarge (413)."""
    if content_length and content_length.isdecimal() and int(content_length) > settings.BODY_LIMIT:
        raise BodyTooLarge
    # A chunked body has no Content-Length.
    body = stream.read(settings.BODY_LIMIT + 1)
    if len(body) > settings.BODY_LIMIT:
        raise BodyTooLarge
    return body


def parse_json(body: bytes) -> Any:
    """Return the parsed JSON; raises ParseError (400) unless it is valid by RFC 8259.

    Python's parser also accepts NaN, infinite numbers and duplicate keys, which are refused here.
    """
    try:
        return json.loads(
            body.decode(),
            object_pairs_hook=reject_duplicate_keys,
            parse_constant=reject_constant,
            parse_float=parse_finite_float,
        )
    except DuplicateKey as error:
        raise ParseError(f"The request body is not valid JSON: {error}") from None
    except RecursionError:
        raise ParseError("The request body is nested too deeply") from None
    except ValueError:
        raise ParseError("The request body is not valid JSON") from None


class DuplicateKey(ValueError):
    """An object has the same key twice. Either value could be the one that the sender means."""


def reject_duplicate_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the pairs as a dict; raises DuplicateKey."""
    result: dict[str, object] = {}
    for name, value in pairs:
        if name in result:
            raise DuplicateKey(f"{name[:MAX_QUOTED_NAME]!a} is there twice")
        result[name] = value
    return result


def reject_constant(name: str) -> None:
    """Raise ValueError for NaN, Infinity and -Infinity."""
    raise ValueError(name)


def parse_finite_float(digits: str) -> float:
    """Return the number; raises ValueError if it is too large for a float."""
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(digits[:20])
    return value


def find_unstorable(value: object, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield path and error of strings that can't be stored (NUL, unpaired surrogates) and of too deep nesting."""
    if isinstance(value, str):
        if UNSTORABLE.search(value):
            yield path, "must not contain NUL or unpaired surrogate characters"
        return
    if not isinstance(value, dict | list):
        return
    if depth == MAX_DEPTH:
        yield path, "is nested too deeply"
        return
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(key, str) and UNSTORABLE.search(key):
            # The error must not quote such a name.
            yield path or "body", "must not contain NUL or unpaired surrogate characters in a name"
            return
        name = str(key)[:MAX_QUOTED_NAME]
        yield from find_unstorable(item, f"{path}.{name}" if path else name, depth + 1)
