"""Input fields: JSON types are taken as they are, never guessed (decisions 3 and 4).

Their messages are predicates; `exceptions.py` puts the field's name before them.
"""

import re
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, ClassVar

from django.core.exceptions import ValidationError as DjangoValidationError
from django.core.validators import EmailValidator, URLValidator
from rest_framework import serializers
from rest_framework.utils.serializer_helpers import BindingDict

from pipeline_backend.db.timestamps import truncate_to_ms

MAX_NAME_LENGTH = 255
MAX_URL_LENGTH = 2048
MAX_TEXT_LENGTH = 10_000

MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(\.\d+)?(Z|[+-]\d{2}:[0-5]\d)?", re.ASCII)
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
E_MAIL, WEB = EmailValidator(), URLValidator(schemes=["http", "https"])
FORBIDDEN_IN_URLS = re.compile(r"""["<>\\]""")  # browsers take \\ for /, and so another host than we see
TIMESTAMP_ERROR = "must be an ISO 8601 timestamp such as 2027-01-05T10:00:00Z, in the years 1970 to 2100"


def parse_timestamp(text: str) -> datetime:
    """RFC 3339 with seconds, in UTC if it names no offset; ValueError for anything else."""
    match = MOMENT.fullmatch(text)
    if match is None:
        raise ValueError(TIMESTAMP_ERROR)
    whole, fraction, offset = match.groups()
    try:
        moment = datetime.fromisoformat(whole + (fraction or "")[:7] + (offset or "Z")).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(TIMESTAMP_ERROR) from None
    if not 1970 <= moment.year <= 2100:
        raise ValueError(TIMESTAMP_ERROR)
    return truncate_to_ms(moment)


def parse_uuid(text: str) -> uuid.UUID:
    """The usual 36 characters, in either letter case; ValueError for anything else."""
    if not UUID.fullmatch(text):
        raise ValueError("must be a UUID")
    return uuid.UUID(text)


class InputSerializer(serializers.Serializer[Any]):
    """A JSON object. Optional members given as null or blank count as absent; unknown ones are ignored."""

    default_error_messages = {"invalid": "must be an object"}
    either: ClassVar[Sequence[tuple[str, str]]] = ()  # pairs of which one is required

    @property
    def fields(self) -> Any:
        """The fields, bound once: ours remember nothing of a request, and copying them takes longer than reading it."""
        return bound(type(self))

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The typed values of the members that are there, or everything that is wrong with them."""
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)
        given = {name: value for name, value in data.items() if not is_blank(value)}
        missing: dict[str, Any] = {
            name: [f"is required unless {other} is given"]
            for name, other in self.either
            if name not in given and other not in given
        }
        try:
            values = super().to_internal_value(given)
        except serializers.ValidationError as error:
            missing = error.detail | missing  # type: ignore[operator]  # a serializer's detail is a dict
        if missing:
            raise serializers.ValidationError(missing)
        return values

    def run_validation(self, data: Any = serializers.empty) -> Any:
        """An object, whatever was sent in its place."""
        if data is None:
            raise serializers.ValidationError("must be an object")
        return super().run_validation(data)


@cache
def bound(kind: type[InputSerializer]) -> BindingDict:
    """An input's fields, as DRF makes them for each serializer anew."""
    fields = BindingDict(kind())
    for name, field in kind().get_fields().items():
        fields[name] = field
    return fields


def is_blank(value: Any) -> bool:
    """Null, or text with nothing in it."""
    return value is None or (isinstance(value, str) and not value.strip())


class StringField(serializers.Field[str, Any, str, Any]):
    """A string of at most `longest` characters; trimmed only where it names something."""

    default_error_messages = {
        "required": "is required",
        "type": "must be a string",
        "long": "must be at most {longest} characters long",
    }

    def __init__(self, longest: int = MAX_NAME_LENGTH, *, trim: bool = False, **options: Any) -> None:
        self.longest = longest
        self.trim = trim
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> str:
        """The text."""
        if not isinstance(data, str):
            self.fail("type")
        text = data.strip() if self.trim else data
        if len(text) > self.longest:
            self.fail("long", longest=self.longest)
        return text

    def to_representation(self, value: str) -> str:
        """The text."""
        return value


class EmailField(StringField):
    """An e-mail address, as it was typed."""

    default_error_messages = {"invalid": "must be an e-mail address"}

    def __init__(self, **options: Any) -> None:
        super().__init__(254, trim=True, **options)

    def to_internal_value(self, data: Any) -> str:
        """The address, trimmed."""
        text = super().to_internal_value(data)
        return checked(self, E_MAIL, text)


class URLField(StringField):
    """An http or https URL."""

    default_error_messages = {"invalid": "must be an http or https URL"}

    def __init__(self, **options: Any) -> None:
        super().__init__(MAX_URL_LENGTH, trim=True, **options)

    def to_internal_value(self, data: Any) -> str:
        """The URL, trimmed."""
        text = super().to_internal_value(data)
        if FORBIDDEN_IN_URLS.search(text):
            self.fail("invalid")
        return checked(self, WEB, text)


def checked(field: serializers.Field[Any, Any, Any, Any], validator: Any, text: str) -> str:
    """The text, if Django's validator takes it and nothing in it is invisible: addresses are put into mails and links."""
    try:
        validator(text)
    except DjangoValidationError:
        field.fail("invalid")
    if not text.isprintable():
        field.fail("invalid")
    return text


class DateTimeField(StringField):
    """A timestamp, at millisecond precision."""

    default_error_messages = {"type": TIMESTAMP_ERROR}

    def to_internal_value(self, data: Any) -> Any:
        """The moment in UTC."""
        try:
            return parse_timestamp(super().to_internal_value(data))
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None


class UUIDField(StringField):
    """A UUID in its usual form."""

    default_error_messages = {"type": "must be a UUID"}

    def to_internal_value(self, data: Any) -> Any:
        """The UUID."""
        try:
            return parse_uuid(super().to_internal_value(data))
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None


class IntegerField(serializers.Field[int, Any, int, Any]):
    """An integer within bounds; neither "5", 5.0 nor true is one."""

    default_error_messages = {"required": "is required", "invalid": "must be a whole number from {least} to {most}"}

    def __init__(self, least: int, most: int, **options: Any) -> None:
        self.least = least
        self.most = most
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> int:
        """The number."""
        if type(data) is not int or not self.least <= data <= self.most:
            self.fail("invalid", least=self.least, most=self.most)
        return data

    def to_representation(self, value: int) -> int:
        """The number."""
        return value


class ChoiceField(StringField):
    """One of an enumeration's values."""

    default_error_messages = {"type": "must be one of: {accepted}"}

    def __init__(self, accepted: list[str], **options: Any) -> None:
        self.accepted = accepted
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> str:
        """The value."""
        if data not in self.accepted:
            self.fail("type", accepted=", ".join(self.accepted))
        return data


class BoundedListField(serializers.ListField):
    """An array of at most `most` items of one kind."""

    default_error_messages = {
        "not_a_list": "must be an array",
        "max_length": "must have at most {max_length} items",
        "null": "must be an object",
    }

    def to_internal_value(self, data: Any) -> list[Any]:
        """The items. Too many are refused before each is looked at: the answer would be longer than the request."""
        if isinstance(data, list) and self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().to_internal_value(data)
