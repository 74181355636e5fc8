"""The events feed's parameters (decision 35)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pipeline_backend.api.exceptions import ValidationFailed
from pipeline_backend.api.fields import parse_uuid
from pipeline_backend.api.pagination import MAX_LIMIT, read_number
from webhooks.topics import topics

DEFAULT_LIMIT = 100


@dataclass(frozen=True)
class FeedQuery:
    """Which events are wanted."""

    after: UUID | None
    types: list[str]
    limit: int

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "FeedQuery":
        """Read the parameters, or 400 naming the bad one."""
        limit, problems = read_number(query, "limit", default=DEFAULT_LIMIT, most=MAX_LIMIT)
        after, bad_after = read_after(query.get("after", ""))
        types, bad_types = read_types(query.get("type", ""))
        problems |= bad_after | bad_types
        if problems:
            raise ValidationFailed(problems)
        return cls(after, types, limit)

    @staticmethod
    def parameters() -> Iterator[tuple[str, dict[str, Any], str]]:
        """Name, schema and help of each."""
        yield (
            "after",
            {"type": "string", "format": "uuid"},
            "The id of the last event that you have; without it, from the first on.",
        )
        yield "type", {"type": "string"}, f"Comma-separated: any of {', '.join(topics())}."
        yield (
            "limit",
            {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
            "Events in one answer.",
        )


def read_after(text: str) -> tuple[UUID | None, dict[str, list[str]]]:
    """An event's id, and what is wrong with it."""
    try:
        return (parse_uuid(text) if text else None), {}
    except ValueError as error:
        return None, {"after": [str(error)]}


def read_types(text: str) -> tuple[list[str], dict[str, list[str]]]:
    """Event types (none: all), and what is wrong with them."""
    types = text.split(",", 50) if text else []
    if set(types) <= set(topics()):
        return types, {}
    return [], {"type": [f"must be one of: {', '.join(topics())}"]}
