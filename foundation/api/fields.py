"""Input fields: JSON types are accepted as they are and never converted (docs/interface.md, G12 to G20).

Error messages are predicates such as "is required"; `exceptions` puts the field's name before them.
"""

import json
import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, ClassVar

from django.core.exceptions import ValidationError as DjangoValidationError
from django.core.validators import URLValidator
from rest_framework import serializers
from rest_framework.utils.serializer_helpers import BindingDict

from foundation.api.emails import MAX_EMAIL_LENGTH, parse_email
from foundation.db.timestamps import truncate_to_ms

MAX_NAME_LENGTH = 255
MAX_URL_LENGTH = 2048
MAX_TEXT_LENGTH = 10_000
MAX_LIST_ITEMS = 1_000  # of a list that is stored as text; more would cost more than they are worth

# ASCII, because \d alone matches the digits of every script. Not 24:00, which newer versions of Python accept.
TIMESTAMP = re.compile(
    r"(\d{4}-\d{2}-\d{2}T(?!24)\d{2}:\d{2})(?:(:\d{2})(\.\d+)?)?(Z|[+-]\d{2}:?[0-5]\d)?", re.ASCII | re.IGNORECASE
)
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
FORBIDDEN_IN_URLS = re.compile(r"""["<>\\]""")  # browsers read \\ as /, and so see another host than we do
YEARS = range(1970, 2101)
TIMESTAMP_ERROR = "must be an ISO 8601 timestamp such as 2027-01-05T10:00:00Z"
YEARS_ERROR = f"must be in the years {YEARS[0]} to {YEARS[-1]}"

validate_http_url = URLValidator(schemes=["http", "https"])


def parse_timestamp(text: str, *, years: range = YEARS) -> datetime:
    """Return a timestamp in UTC, cut to milliseconds; raises ValueError unless it is ISO 8601 (docs/interface.md, G19).

    Without an offset it is read as UTC. Its year, in UTC, must be one of `years`; the message names the default ones.
    """
    match = TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(TIMESTAMP_ERROR)
    minutes, seconds, fraction, offset = match.groups(default="")
    try:
        # Python accepts at most six digits of a fraction; the point is the seventh character.
        local = datetime.fromisoformat(f"{minutes}{seconds}{fraction[:7]}{offset or 'Z'}".upper())
        timestamp = local.astimezone(UTC)
    except ValueError:
        raise ValueError("must be an existing date and time") from None
    except OverflowError:
        raise ValueError(YEARS_ERROR) from None
    if timestamp.year not in years:
        raise ValueError(YEARS_ERROR)
    return truncate_to_ms(timestamp)


def parse_uuid(text: str) -> uuid.UUID:
    """Return the UUID; raises ValueError unless it has the usual 36 characters, in either letter case."""
    # `uuid.UUID` also accepts braces, a URN and missing hyphens.
    if not UUID.fullmatch(text):
        raise ValueError("must be a UUID")
    return uuid.UUID(text)


def parse_http_url(text: str) -> str:
    """Return the text; raises ValueError unless it is an http or https URL of printable characters."""
    try:
        validate_http_url(text)
        # URLs are put into mails and links, where an invisible character could mislead the reader.
        is_valid = text.isprintable() and not FORBIDDEN_IN_URLS.search(text)
    except DjangoValidationError:
        is_valid = False
    if not is_valid:
        raise ValueError("must be an http or https URL")
    return text


class InputSerializer(serializers.Serializer):
    """A JSON object. Optional fields that are null or blank count as absent; unknown fields are ignored."""

    default_error_messages = {"required": "is required", "invalid": "must be an object", "null": "must be an object"}
    # Pairs of fields; the first is required unless the second is given.
    require_one_of: ClassVar[Sequence[tuple[str, str]]] = ()

    @property
    def fields(self) -> BindingDict:
        # DRF copies them for each instance, which takes longer than validating a body. Ours keep no state.
        return bound_fields(type(self))

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """Return the typed values of the fields that are present; raises ValidationError with all errors at once."""
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)
        present = {name: value for name, value in data.items() if not is_blank(value)}
        errors: dict[str, Any] = {
            name: [f"is required unless {other} is given"]
            for name, other in self.require_one_of
            if name not in present and other not in present
        }
        try:
            values = super().to_internal_value(present)
        except serializers.ValidationError as error:
            errors = error.detail | errors  # type: ignore[operator]  # a serializer's detail is a dict
        if errors:
            raise serializers.ValidationError(errors)
        return values


class UpdateInputSerializer(InputSerializer):
    """Changes of an object: an absent field keeps its value, one that is null or blank is None, which clears it.

    Only fields with `allow_null` can be cleared.
    """

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)
        cleared = {name: field for name, field in self.fields.items() if name in data and is_blank(data[name])}
        errors: dict[str, Any] = {name: ["can't be cleared"] for name, field in cleared.items() if not field.allow_null}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            errors = error.detail | errors  # type: ignore[operator]  # a serializer's detail is a dict
        if errors:
            raise serializers.ValidationError(errors)
        return values | dict.fromkeys(cleared)


class LenientInputSerializer(InputSerializer):
    """Side facts in a JSON object. Anything that is no object counts as absent."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        return super().to_internal_value(data if isinstance(data, Mapping) else {})


@cache
def bound_fields(serializer_class: type[InputSerializer]) -> BindingDict:
    """Return the fields of an input serializer, bound to an instance as DRF does for each one."""
    fields = BindingDict(serializer_class())
    for name, field in serializer_class().get_fields().items():
        fields[name] = field
    return fields


def is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


class StringField(serializers.Field):
    """A string of at most `max_length` characters; trimmed only if `trim_whitespace` is set."""

    max_length = MAX_NAME_LENGTH
    trim_whitespace = False
    default_error_messages = {
        "required": "is required",
        "null": "must not be null",  # as an item of a list
        "type": "must be a string",
        "max_length": "must be at most {max_length} characters long",
    }

    def to_internal_value(self, data: object) -> Any:
        if not isinstance(data, str):
            self.fail("type")
        text = data.strip() if self.trim_whitespace else data
        if len(text) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        try:
            return self.parse(text)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None

    def parse(self, text: str) -> object:
        return text


class NameField(StringField):
    trim_whitespace = True


class LongStringField(StringField):
    max_length = MAX_TEXT_LENGTH


class PathTextField(StringField):
    """A text from the path of a URL. In bodies the parser refuses NUL."""

    def parse(self, text: str) -> str:
        if "\0" in text:
            raise ValueError("must not contain NUL characters")
        return text


class AnyTextField(StringField):
    """Any JSON value as text, by `as_text`; None if it is blank. With `cut`, a longer text is trimmed and cut."""

    def __init__(self, *, max_length: int, cut: bool = False, **options: Any) -> None:
        self.max_length, self.cut = max_length, cut
        super().__init__(required=False, **options)

    def to_internal_value(self, data: object) -> Any:
        text = as_text(data)
        return super().to_internal_value(text.strip()[: self.max_length] if self.cut else text) or None


def as_text(value: object) -> str:
    """Return a JSON value as text: the items of a list joined by ", ", null as "", and other values as in JSON."""
    items = value[:MAX_LIST_ITEMS] if isinstance(value, list) else [value]
    texts = (
        item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in items if item is not None
    )
    return ", ".join(filter(str.strip, texts))


class EmailField(NameField):
    """An e-mail address without surrounding whitespace, as `parse_email` accepts it; its letter case is kept."""

    max_length = MAX_EMAIL_LENGTH
    parse = staticmethod(parse_email)


class URLField(NameField):
    max_length = MAX_URL_LENGTH
    parse = staticmethod(parse_http_url)


class DateTimeField(StringField):
    default_error_messages = {"type": TIMESTAMP_ERROR}
    parse = staticmethod(parse_timestamp)


class UUIDField(StringField):
    default_error_messages = {"type": "must be a UUID"}
    parse = staticmethod(parse_uuid)


class IntegerField(serializers.IntegerField):
    default_error_messages = {
        "required": "is required",
        "invalid": "must be a whole number from {min_value} to {max_value}",
    }

    min_value: int
    max_value: int

    def to_internal_value(self, data: object) -> int:
        # Not isinstance: True is an int.
        if type(data) is not int or not self.min_value <= data <= self.max_value:
            self.fail("invalid", min_value=self.min_value, max_value=self.max_value)
        return data


class BooleanField(serializers.BooleanField):
    default_error_messages = {"required": "is required", "invalid": "must be true or false"}

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class NumberField(serializers.FloatField):
    default_error_messages = {"required": "is required", "invalid": "must be a number from {min_value} to {max_value}"}

    min_value: float
    max_value: float

    def to_internal_value(self, data: object) -> float:
        if type(data) not in (int, float) or not self.min_value <= data <= self.max_value:  # type: ignore[operator]
            self.fail("invalid", min_value=self.min_value, max_value=self.max_value)
        return float(data)  # type: ignore[arg-type]


class ChoiceField(StringField):
    default_error_messages = {"type": "must be one of: {choices}"}

    def __init__(self, choices: list[str], **options: Any) -> None:
        self.choices = choices
        super().__init__(**options)

    def to_internal_value(self, data: object) -> str:
        # A list comparison, because an object or array in the JSON can't be hashed.
        if data not in self.choices:
            self.fail("type", choices=", ".join(self.choices))
        return str(data)


class ObjectField(serializers.Field):
    """A JSON object whose names and values only the database knows; the service checks them."""

    openapi: ClassVar[dict[str, Any]] = {"type": "object", "additionalProperties": {}}
    default_error_messages = {"type": "must be an object"}

    def to_internal_value(self, data: object) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.fail("type")
        return data


class BoundedListField(serializers.ListField):
    default_error_messages = {"not_a_list": "must be an array", "max_length": "must have at most {max_length} items"}

    def to_internal_value(self, data: Any) -> list[Any]:
        # Before the items are validated, because the errors of a million items would be longer than the request.
        if isinstance(data, list) and self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().to_internal_value(data)
