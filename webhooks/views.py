"""The events list (docs/interface.md, W6)."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from foundation.api.openapi import ListResponse
from foundation.api.responses import data_response
from foundation.api.viewsets import ExternalViewSet
from webhooks.feed import describe_parameters, list_events, read_query
from webhooks.serializers import EventSerializer


class EventViewSet(ExternalViewSet):
    """Events."""

    @extend_schema(
        summary="List events",
        parameters=describe_parameters(),
        responses={200: ListResponse(EventSerializer, {"has_more": {"type": "boolean"}})},
    )
    def list(self, request: Request) -> Response:
        """Return the organization's events, oldest first.

        To get all of them, repeat the request with the id of the last event as `after` until `has_more` is false.
        """
        events, has_more = list_events(organization=self.organization, **read_query(request.query_params))
        return data_response("Events retrieved", events, has_more=has_more)
