"""The events list and its query parameters (docs/interface.md, W6)."""

from itertools import accumulate
from typing import TypedDict
from uuid import UUID

import orjson
from django.db.models import Func, IntegerField
from django.http import QueryDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from foundation.api.exceptions import ValidationFailed
from foundation.api.fields import parse_uuid
from foundation.api.pagination import MAX_LIMIT, parse_integer, read_parameters
from organizations.models import Organization
from webhooks.models import Event
from webhooks.topics import topics

DEFAULT_LIMIT = 100
MAX_PAGE_BYTES = 2 * 1024 * 1024


class FeedQuery(TypedDict):
    """The last event that the client has, the topics it asks for (none means all), and the page size."""

    after: UUID | None
    types: list[str]
    limit: int


def read_query(query: QueryDict) -> FeedQuery:
    """Validate the parameters. Raises ValidationFailed naming all that are invalid."""
    params, unknown = read_parameters(query, {"after": False, "type": True, "limit": False})
    limit, errors = parse_integer(params, "limit", default=DEFAULT_LIMIT, max_value=MAX_LIMIT)
    after = None
    try:
        after = parse_uuid(params["after"]) if params.get("after") else None
    except ValueError as error:
        errors |= {"after": [str(error)]}
    # At most 50 splits, so that a parameter full of commas costs little: its last part is then no topic.
    types = [name.strip() for name in params["type"].split(",", 50)] if params.get("type") else []
    if not set(types) <= set(topics()):
        errors |= {"type": [f"must be one of: {', '.join(topics())}"]}
    if errors := errors | unknown:
        raise ValidationFailed(errors)
    return {"after": after, "types": types, "limit": limit}


def describe_parameters() -> list[OpenApiParameter]:
    last_event = "The id of the last event you have; events after it are returned. Omit it to start with the first."
    types = f"Event types, comma-separated or repeated: any of {', '.join(topics())}."
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
    return [
        OpenApiParameter("after", OpenApiTypes.UUID, description=last_event),
        OpenApiParameter("type", description=types),
        OpenApiParameter("limit", limit, description="The maximum number of events in the response."),
    ]


def list_events(
    *, organization: Organization, after: UUID | None, types: list[str], limit: int
) -> tuple[list[dict[str, object]], bool]:
    """Return up to `limit` events and about `MAX_PAGE_BYTES`, oldest first, and whether there are more.

    Raises ValidationFailed if `after` is not an event of the organization.
    """
    events = Event.objects.of(organization).visible()
    if after:
        last = Event.objects.of(organization).filter(pk=after).first()
        if last is None:
            raise ValidationFailed({"after": ["is not known in the organization"]})
        events = events.after(last)
    if types:
        events = events.filter(type__in=types)
    # One row more than asked for answers `has_more` without a count.
    rows = list(
        events.annotate(size=Func("body", function="octet_length", output_field=IntegerField())).values_list(
            "id", "size"
        )[: limit + 1]
    )
    ends = accumulate(size for _, size in rows)
    # The first event, whatever its size, and those within the bytes of a page: a body can have megabytes.
    page = [id for (id, _), end in zip(rows, ends, strict=True) if id == rows[0][0] or end <= MAX_PAGE_BYTES][:limit]
    bodies = dict(Event.objects.of(organization).filter(pk__in=page).values_list("id", "body"))
    return [{"id": id, **orjson.loads(bodies[id])} for id in page if id in bodies], len(rows) > len(page)
