"""Tells an open page what others have changed since it was loaded. Visible pages ask every 30 seconds (admin.js).

The answer is one sentence: what a person is reading or typing stays until they choose to load the page again. A board
loads its cards itself (board.js). An answer that hasn't changed is a 304.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest, JsonResponse
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.views.decorators.http import conditional_page

from foundation.api.exceptions import ValidationFailed
from foundation.api.fields import parse_timestamp, parse_uuid
from foundation.db.timestamps import now
from organizations.actors import ActorKind
from organizations.models import Organization
from organizations.permissions import PERMISSIONS, Area, current_user, organization_ids
from webhooks.filters import subject_filters
from webhooks.models import Event

# The events that concern a list, by its model's name.
TOPICS = {"appointment": ["appointment."], "lead": ["lead."], "optin": ["opt_in."]}
TOPICS["home"] = [prefix for prefixes in TOPICS.values() for prefix in prefixes]
RECORDS = {"appointment": "appointment_id", "lead": "lead_id"}  # and the filter with the events of a record
MAX_EVENTS = 500  # read for each organization; more are "500+"
MAX_ORGANIZATIONS = 20
MAX_AGE = timedelta(days=7)


@conditional_page
def updates_view(request: HttpRequest) -> JsonResponse:
    """Return the sentence, empty if there is nothing to say. Raises BadRequest for parameters that no page sends."""
    page, since, row_id = read_parameters(request)
    events: list[tuple[str, str, datetime]] = []
    ids = organization_ids(request, PERMISSIONS[Area.WORK].view)
    for organization in Organization.objects.filter(pk__in=ids).order_by("pk")[:MAX_ORGANIZATIONS]:
        others = Event.objects.of(organization).filter(created_at__gt=since)
        others = others.exclude(actor_kind=ActorKind.STAFF, actor_id=current_user(request).pk)
        if row_id:
            try:
                subjects = subject_filters()[RECORDS[page]].subject_ids(organization, row_id)
            except ValidationFailed:
                continue  # the row of another of the user's organizations, or a deleted one
            others = others.filter(subject_id__in=subjects)
        events += newest(others)
    return JsonResponse({"text": describe_record(events) if row_id else describe_list(events, TOPICS[page])})


def read_parameters(request: HttpRequest) -> tuple[str, datetime, UUID | None]:
    page, id = request.GET.get("page", ""), request.GET.get("id", "")
    if page not in (RECORDS if id else TOPICS):
        raise BadRequest("The page is unknown.")
    try:
        return page, max(parse_timestamp(request.GET.get("since", "")), now() - MAX_AGE), parse_uuid(id) if id else None
    except ValueError:
        raise BadRequest("The parameters have an invalid value.") from None


def newest(events: QuerySet[Event]) -> list[tuple[str, str, datetime]]:
    return list(events.order_by("-created_at", "-id").values_list("type", "actor_name", "created_at")[:MAX_EVENTS])


def describe_record(events: Iterable[tuple[str, str, datetime]]) -> str:
    latest = max(events, key=lambda event: event[2], default=None)
    if latest is None:
        return ""
    _, name, at = latest
    when = "just now" if now() - at < timedelta(minutes=1) else f"at {date_format(localtime(at), 'TIME_FORMAT')}"
    return f"Changed {when} by {name or 'the system'}."


def describe_list(events: list[tuple[str, str, datetime]], prefixes: list[str]) -> str:
    topics = [topic for topic, _, _ in events if topic.startswith(tuple(prefixes))]
    added = sum(topic.endswith(".created") for topic in topics)
    changes, more = len(topics) - added, "+" if len(events) >= MAX_EVENTS else ""
    texts = [f"{added}{more} new"] * bool(added) + [f"{changes}{more} changed"] * bool(changes)
    return f"{', '.join(texts)}." if texts else ""
