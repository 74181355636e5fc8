"""The events list and its query parameters (docs/interface.md, W6 and W27 to W29)."""

from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db.models import F, Func, IntegerField
from django.http import QueryDict
from drf_spectacular.utils import OpenApiParameter

from foundation.api.exceptions import ValidationFailed
from foundation.api.fields import YEARS, parse_uuid
from foundation.api.filters import DateTimeFilter
from foundation.api.openapi import query_parameter
from foundation.api.pagination import MAX_LIMIT, parse_integer, read_parameters
from foundation.api.sql_serializers import Json
from organizations.events import last_event_id
from organizations.models import Organization
from webhooks.filters import subject_filters
from webhooks.models import Event, EventQuerySet
from webhooks.openapi import topic_examples
from webhooks.topics import topics

DEFAULT_LIMIT = 100
MAX_PAGE_BYTES = 2 * 1024 * 1024
LATEST = "latest"  # as `after`
TIMES = {"created_from": DateTimeFilter("created_at", "gte"), "created_to": DateTimeFilter("created_at", "lte")}
# Longer than any transaction, and than clocks differ. Of two events that are further apart, the earlier one comes first
# in the list.
LONGEST_TRANSACTION = timedelta(minutes=10)
FIRST_TIME, LAST_TIME = datetime(YEARS.start, 1, 1, tzinfo=UTC), datetime(YEARS.stop, 1, 1, tzinfo=UTC)


class FeedQuery(NamedTuple):
    """The parameters: the last event that the client has, or `LATEST`; the topics (none means all); the page size.

    `filters` has the times and rows by which the client filters, by the parameters' names.
    """

    after: UUID | str | None
    types: list[str]
    limit: int
    filters: dict[str, Any]


class FeedPage(NamedTuple):
    """A page of events, whether there are more, and the id to continue with: None if there is no event before it."""

    events: list[dict[str, object]]
    has_more: bool
    last_event_id: UUID | None


def read_query(query: QueryDict) -> FeedQuery:
    """Return the parameters. Raises ValidationFailed naming all that are invalid."""
    filters = filter_parameters()
    params, unknown = read_parameters(
        query, {"after": False, "type": True, "limit": False, **dict.fromkeys(filters, False)}
    )
    limit, errors = parse_integer(params, "limit", default=DEFAULT_LIMIT, max_value=MAX_LIMIT)
    values: dict[str, Any] = {}
    for name, parse in {"after": parse_after, **{name: filter.parse for name, filter in filters.items()}}.items():
        try:
            if text := params.get(name, "").strip():
                values[name] = parse(text)
        except ValueError as error:
            errors |= {name: [str(error)]}
    # At most 50 splits, so that a parameter full of commas costs little: its last part is then no topic.
    types = [name.strip() for name in params["type"].split(",", 50)] if params.get("type") else []
    if not set(types) <= set(topics()):
        errors |= {"type": [f"must be one of: {', '.join(topics())}"]}
    if errors := errors | unknown:
        raise ValidationFailed(errors)
    return FeedQuery(values.pop("after", None), types, limit, values)


def filter_parameters() -> dict[str, Any]:
    """Return the filters that parse and describe the times and the rows, by the parameters' names."""
    return {**TIMES, **{name: filter.row for name, filter in subject_filters().items()}}


def parse_after(text: str) -> UUID | str:
    if text == LATEST:
        return LATEST
    try:
        return parse_uuid(text)
    except ValueError:
        raise ValueError(f"must be a UUID or {LATEST}") from None


def describe_parameters() -> list[OpenApiParameter]:
    last_event = (
        "The id of the last event you have; events after it are returned. Omit it to start with the first. With "
        f"`{LATEST}` no event is returned, and `last_event_id` is the id to continue with."
    )
    types = f"Event types, comma-separated or repeated: any of {', '.join(topics())}; more may be added."
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
    return [
        query_parameter("after", {"type": "string"}, last_event),
        query_parameter("type", {"type": "array", "items": {"type": "string"}}, types),
        query_parameter("limit", limit, "The maximum number of events in the response."),
        *(query_parameter(name, filter.schema, filter.help_text) for name, filter in filter_parameters().items()),
    ]


def list_events(*, organization: Organization, query: FeedQuery) -> FeedPage:
    """Return a page of up to `limit` events and about `MAX_PAGE_BYTES`, oldest first.

    Raises ValidationFailed if `after` or a filter names what the organization doesn't have.
    """
    events = filter_events(organization, query)
    if isinstance(query.after, str):
        return FeedPage([], has_more=False, last_event_id=last_event_id(organization))
    # One row more than asked for answers `has_more` without a count.
    rows = list(
        events.annotate(size=Func("body", function="octet_length", output_field=IntegerField())).values_list(
            "id", "size"
        )[: query.limit + 1]
    )
    page = [id for id, _ in first_of_page(rows)][: query.limit]
    bodies = dict(Event.objects.of(organization).filter(pk__in=page).values_list("id", "body"))
    found = [{"id": id, **orjson.loads(bodies[id])} for id in page if id in bodies]
    return FeedPage(found, len(rows) > len(page), page[-1] if page else query.after)


def first_of_page(rows: list[tuple[UUID, int]]) -> list[tuple[UUID, int]]:
    """Return the first event, whatever its size, and those within the bytes of a page: a body can have megabytes."""
    ends = accumulate(size for _, size in rows)
    return [row for row, end in zip(rows, ends, strict=True) if row is rows[0] or end <= MAX_PAGE_BYTES]


def list_samples(*, organization: Organization, topic: str, limit: int) -> list[Any]:
    """Return the bodies of the topic's newest events as they are delivered, or the documented example if none is there.

    The bodies of events that older versions recorded get the event's id, as in the events list.
    """
    events = Event.objects.of(organization).filter(type=topic).order_by("-transaction", "-id")
    size = Func("body", function="octet_length", output_field=IntegerField())
    page = [id for id, _ in first_of_page(list(events.annotate(size=size).values_list("id", "size")[:limit]))]
    bodies = events.filter(pk__in=page).values_list("id", "body")
    samples = [Json(body if body.startswith('{"id"') else f'{{"id":"{id}",{body[1:]}') for id, body in bodies]
    return samples or [topic_examples()[topic]]


def filter_events(organization: Organization, query: FeedQuery) -> EventQuerySet:
    """Return the events that follow `after` and match all filters, in the order of the list."""
    all_events: EventQuerySet = Event.objects.of(organization)
    events = all_events.visible()
    if isinstance(query.after, UUID):
        last = all_events.filter(pk=query.after).first()
        if last is None:
            raise ValidationFailed({"after": ["is not known in the organization"]})
        events = events.after(last)
    if query.types:
        events = events.filter(type__in=query.types)
    for name, value in query.filters.items():
        if name in TIMES:
            events = TIMES[name].filter(events, value)
        else:
            events = events.filter(subject_id__in=subject_filters()[name].subject_ids(organization, value))
            # The sum keeps PostgreSQL from walking along the list to find the few events of these subjects.
            events = events.order_by(F("transaction") + 0, "id")
    # The conditions on the time don't tell PostgreSQL where in the list to begin and to end.
    if start := query.filters.get("created_from"):
        earlier = all_events.filter(created_at__lt=max(start, FIRST_TIME) - LONGEST_TRANSACTION)
        if (event := earlier.order_by("-created_at", "-id").first()) is not None:
            events = events.filter(transaction__gte=event.transaction)
    if end := query.filters.get("created_to"):
        later = all_events.filter(created_at__gt=min(end, LAST_TIME) + LONGEST_TRANSACTION)
        if (event := later.order_by("created_at", "id").first()) is not None:
            events = events.filter(transaction__lte=event.transaction)
    return events
