"""The events feed (decision 35)."""

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline_backend.api.openapi import ListResponse, operation
from pipeline_backend.api.responses import data_response
from pipeline_backend.api.viewsets import ExternalViewSet
from webhooks.feed import FeedQuery
from webhooks.serializers import EventSerializer
from webhooks.services import feed


class EventViewSet(ExternalViewSet):
    """Events."""

    @operation(
        "List events",
        answers={200: ListResponse(EventSerializer, paged=False, more={"has_more": {"type": "boolean"}})},
        parameters=FeedQuery.parameters,
    )
    def list(self, request: Request) -> Response:
        """The organization's events, oldest first: pass the last id that you have as `after`, until `has_more` is false."""
        events, has_more = feed(organization=self.organization, **vars(FeedQuery.of(request.query_params)))
        return data_response("Events retrieved", events, has_more=has_more)
