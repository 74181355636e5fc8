"""Request bodies: strict JSON, bounded in size and depth (decisions 1 and 3)."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser

from pipeline_backend.api.exceptions import BodyTooLarge, ValidationFailed

MAX_DEPTH = 32
LONGEST_NAME = 64  # an answer that names what is wrong is not as long as the request
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class StrictJsonParser(BaseParser):
    """`application/json` in UTF-8 whose top level is an object."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The body as a dict, or a 400, 413 or 415."""
        request = (parser_context or {})["request"]
        encoding = request.headers.get("Content-Encoding", "identity")
        if encoding != "identity":
            raise UnsupportedMediaType(encoding, "Content-Encoding is not supported; send the body as it is")
        body = self.read(stream, request.META.get("CONTENT_LENGTH"))
        if not body:
            return {}
        parsed = self.load(body)
        if not isinstance(parsed, dict):
            raise ParseError("The request body must be a JSON object")
        for path, problem in problems(parsed):
            raise ValidationFailed({path: [problem]})
        return parsed

    def read(self, stream: IO[bytes], announced: str | None) -> bytes:
        """At most the limit."""
        if announced and announced.isdecimal() and int(announced) > settings.BODY_LIMIT:
            raise BodyTooLarge
        body = stream.read(settings.BODY_LIMIT + 1)
        if len(body) > settings.BODY_LIMIT:
            raise BodyTooLarge
        return body

    def load(self, body: bytes) -> Any:
        """JSON by its standard: no NaN, no repeated names, no endless numbers, no byte order mark."""
        try:
            return json.loads(
                body.decode(), object_pairs_hook=unrepeated, parse_constant=refuse_constant, parse_float=finite
            )
        except RepeatedName as error:
            raise ParseError(f"The request body is not valid JSON: {error}") from None
        except RecursionError:
            raise ParseError("The request body is nested too deeply") from None
        except ValueError:
            raise ParseError("The request body is not valid JSON") from None


class RepeatedName(ValueError):
    """An object with the same name twice: whichever we took, the sender might have meant the other."""


def unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object, or an error that names the repeated field."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise RepeatedName(f"{name[:LONGEST_NAME]!a} is there twice")
        found[name] = value
    return found


def refuse_constant(name: str) -> None:
    """NaN and the infinities are no JSON."""
    raise ValueError(name)


def finite(digits: str) -> float:
    """A number that a float can hold."""
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise ValueError(digits[:20])
    return value


def problems(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Where text cannot be stored (NUL, half a surrogate pair), or where nesting goes too deep."""
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
            yield path or "body", "must not contain NUL or unpaired surrogate characters in a name"
            return
        name = str(key)[:LONGEST_NAME]
        yield from problems(item, f"{path}.{name}" if path else name, depth + 1)
