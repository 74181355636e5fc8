"""The query parameters of the events list (docs/interface.md, W6)."""

from dataclasses import dataclass
from uuid import UUID

from django.http import QueryDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from foundation.api.exceptions import ValidationFailed
from foundation.api.fields import parse_uuid
from foundation.api.pagination import MAX_LIMIT, parse_integer, read_parameters
from webhooks.topics import topics

DEFAULT_LIMIT = 100


@dataclass(frozen=True)
class FeedQuery:
    """The last event that the client has, the topics it asks for, and the page size."""

    after: UUID | None
    types: list[str]
    limit: int

    @classmethod
    def from_params(cls, query: QueryDict) -> "FeedQuery":
        """Validate the parameters. Raises ValidationFailed naming all that are invalid."""
        params, errors = read_parameters(query, {"after": False, "type": True, "limit": False})
        limit, limit_errors = parse_integer(params, "limit", default=DEFAULT_LIMIT, max_value=MAX_LIMIT)
        after, after_errors = read_after(params.get("after", ""))
        types, types_errors = read_types(params.get("type", ""))
        errors = limit_errors | after_errors | types_errors | errors
        if errors:
            raise ValidationFailed(errors)
        return cls(after, types, limit)

    @staticmethod
    def parameters() -> list[OpenApiParameter]:
        last_event = "The id of the last event you have; events after it are returned. Omit it to start with the first."
        types = f"Event types, comma-separated or repeated: any of {', '.join(topics())}."
        limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
        return [
            OpenApiParameter("after", OpenApiTypes.UUID, description=last_event),
            OpenApiParameter("type", description=types),
            OpenApiParameter("limit", limit, description="The maximum number of events in the response."),
        ]


def read_after(text: str) -> tuple[UUID | None, dict[str, list[str]]]:
    """Return the event id (None if empty) and the errors by parameter."""
    try:
        return (parse_uuid(text) if text else None), {}
    except ValueError as error:
        return None, {"after": [str(error)]}


def read_types(text: str) -> tuple[list[str], dict[str, list[str]]]:
    """Return the topic names (an empty list means all) and the errors by parameter."""
    # At most 50 splits, so that a parameter full of commas costs little: its last part is then no topic.
    types = [name.strip() for name in text.split(",", 50)] if text else []
    if set(types) <= set(topics()):
        return types, {}
    return [], {"type": [f"must be one of: {', '.join(topics())}"]}
