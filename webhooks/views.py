"""The events list (docs/interface.md, W6)."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from foundation.api.openapi import ListResponse
from foundation.api.responses import data_response
from foundation.api.sql_serializers import or_null
from foundation.api.viewsets import ExternalViewSet
from webhooks.feed import describe_parameters, list_events, read_query
from webhooks.serializers import EventSerializer

HAS_MORE = {"type": "boolean", "description": "Whether there are events after these.", "examples": [False]}
LAST_EVENT_ID = or_null({"type": "string", "format": "uuid"}) | {
    "description": "Pass it as `after` to continue: the id of the last event here, or your `after` if there is none. "
    "With `after=latest` the id of the organization's latest event. Null if there is no such event; omit `after` then.",
    "examples": ["01a1fd56-b8e3-729b-a0e3-636a8c05b361"],
}
EXTRA = {"has_more": HAS_MORE, "last_event_id": LAST_EVENT_ID}


class EventViewSet(ExternalViewSet):
    """Events."""

    @extend_schema(
        summary="List events",
        parameters=describe_parameters(),
        responses={200: ListResponse(EventSerializer, "Events retrieved", EXTRA)},
    )
    def list(self, request: Request) -> Response:
        """Return the organization's events, oldest first.

        To get all of them, repeat the request with `last_event_id` as `after` until `has_more` is false.
        """
        page = list_events(organization=self.organization, query=read_query(request.query_params))
        extra = {"has_more": page.has_more, "last_event_id": page.last_event_id}
        return data_response("Events retrieved", page.events, **extra)
