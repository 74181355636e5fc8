"""Custom values as the API takes them: by the fields' keys, and checked by the fields' types (docs/interface.md, A36).

`custom_values` of a row is a JSON object of values by custom field id: a string, a number, a boolean, or a "YYYY-MM-DD"
date.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import connection

from foundation.api.exceptions import MAX_QUOTED_NAME, ValidationFailed
from foundation.api.fields import MAX_TEXT_LENGTH, is_blank
from foundation.api.pagination import MAX_UNKNOWN
from leads.models import CustomField
from organizations.models import Organization
from organizations.versions import VersionedModel

JsonValue = str | float | bool

# A change of one value writes all of them, to the row, its history and its event.
MAX_VALUES_LENGTH = 65_536
TOO_LONG = f"must have at most {MAX_VALUES_LENGTH} characters together, as JSON text"
MAX_EXACT_INTEGER = 2**53  # up to here a float represents every integer exactly
MAX_SHOWN_OPTIONS, MAX_SHOWN_LENGTH = 50, 300  # options and characters in an error
# The functions of `find_with_values` (leads/migrations/0041_custom_value_index.py).
FUNCTIONS = {"LEAD": "leads_with_custom_value", "APPOINTMENT": "appointments_with_custom_value"}
ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def merge_custom_values(
    row: VersionedModel, entity: CustomField.Entity, changes: Mapping[str, object]
) -> dict[str, JsonValue]:
    """Return the row's `custom_values` with the changes, which are by the fields' keys; a blank one removes the value.

    Raises ValidationFailed for each value that isn't of its field's type, for the first unknown keys, and for values
    that are too long together.
    """
    stored: dict[str, JsonValue] = row.custom_values  # type: ignore[attr-defined]  # leads and appointments have it
    given = parse_custom_values(row.organization, entity, changes, stored)
    values = {id: value for id, value in (stored | given).items() if value is not None}
    if are_too_long(values, stored):
        raise ValidationFailed({"custom_fields": [TOO_LONG]})
    return values


def parse_custom_values(
    organization: Organization,
    entity: CustomField.Entity,
    changes: Mapping[str, object],
    stored: Mapping[str, JsonValue],
) -> dict[str, JsonValue | None]:
    """Return the changes by the fields' ids; None for a blank one. Raises as `merge_custom_values` does."""
    fields = {field.key: field for field in CustomField.objects.of(organization).filter(entity=entity)}
    unknown = islice((key for key in changes if key not in fields), MAX_UNKNOWN)
    errors = {key[:MAX_QUOTED_NAME]: ["is not known in the organization"] for key in unknown}
    values: dict[str, JsonValue | None] = {}
    for key in sorted(fields.keys() & changes.keys()):
        field, value = fields[key], changes[key]
        id = str(field.pk)
        if is_blank(value):
            values[id] = None
        elif field.type == CustomField.Type.SELECT and value == stored.get(id):
            values[id] = stored[id]  # as in the admin, a value whose option was removed meanwhile may stay
        else:
            try:
                new = parse_json_value(value, field)
                # PostgreSQL returns 1e23 as an integer, which differs from the float.
                is_equal = field.type == CustomField.Type.NUMBER and id in stored and float(stored[id]) == new
                values[id] = stored[id] if is_equal else new
            except ValueError as error:
                errors[key] = [str(error)]
    if errors:
        raise ValidationFailed({f"custom_fields.{key}": messages for key, messages in errors.items()})
    return values


def are_too_long(values: Mapping[str, object], stored: Mapping[str, object]) -> bool:
    """Return whether the new values of a row have too many characters together, and more than the stored ones."""
    length = text_length(values)
    return length > MAX_VALUES_LENGTH and length > text_length(stored)


def text_length(values: Mapping[str, object]) -> int:
    return len(json.dumps(values, ensure_ascii=False))


def parse_json_value(value: Any, field: CustomField) -> JsonValue:  # noqa: ANN401  # any JSON value
    """Return the value as it is stored; raises ValueError unless it is one of the field's type."""
    match field.type:
        case CustomField.Type.NUMBER:
            return parse_number(value)
        case CustomField.Type.BOOLEAN if not isinstance(value, bool):
            raise ValueError("must be true or false")
        case CustomField.Type.DATE:
            return parse_date(value)
        case CustomField.Type.SELECT if value not in field.options:
            raise ValueError(f"must be one of: {shown_options(field)}")
        case CustomField.Type.TEXT:
            return parse_text(value)
    return value


def shown_options(field: CustomField) -> str:
    """Return the options for an error, cut: a request can have thousands of errors, and options can be long."""
    text = ", ".join(field.options[:MAX_SHOWN_OPTIONS])
    is_whole = len(field.options) <= MAX_SHOWN_OPTIONS and len(text) <= MAX_SHOWN_LENGTH
    return text if is_whole else f"{text[:MAX_SHOWN_LENGTH]} … ({len(field.options)} options)"


def parse_number(value: object) -> float:
    try:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError
        return without_zero_fraction(float(value))
    except (ValueError, OverflowError):
        raise ValueError("must be a number") from None


def without_zero_fraction(number: float) -> float:
    return int(number) if number.is_integer() and abs(number) <= MAX_EXACT_INTEGER else number


def parse_date(value: object) -> str:
    try:
        if not (isinstance(value, str) and ISO_DATE.fullmatch(value)):
            raise ValueError
        return date.fromisoformat(value).isoformat()
    except ValueError:
        raise ValueError("must be a date such as 2027-01-05") from None


def parse_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be a string")
    text = value.strip()
    if len(text) > MAX_TEXT_LENGTH:
        raise ValueError(f"must be at most {MAX_TEXT_LENGTH} characters long")
    return text


def find_with_values(field: CustomField, values: Sequence[JsonValue], most: int) -> list[UUID]:
    """Return up to `most` ids of rows with one of these values in the field; none if it is out of the scope."""
    with connection.cursor() as cursor:
        parameters: list[Any] = [field.organization_id, str(field.pk), [json.dumps(value) for value in values], most]
        cursor.execute(f"SELECT {FUNCTIONS[field.entity]}(%s, %s, %s::jsonb[], %s)", parameters)
        return [row[0] for row in cursor.fetchall()]
