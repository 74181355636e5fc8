"""The events feed (decision 35)."""

from rest_framework.request import Request
from rest_framework.response import Response

from pipeline_backend.api.responses import found
from pipeline_backend.api.schema import ListOf, operation
from pipeline_backend.api.viewsets import ExternalViewSet
from webhooks.feed import FeedQuery
from webhooks.services import feed
from webhooks.shapes import EventShape


class EventViewSet(ExternalViewSet):
    """Events."""

    @operation("List events", answers={200: ListOf(EventShape, paged=False, more={"has_more": {"type": "boolean"}})}, parameters=FeedQuery.parameters)
    def list(self, request: Request) -> Response:
        """The organization's events, oldest first: pass the last id that you have as `after`, until `has_more` is false."""
        events, has_more = feed(organization=self.organization, **vars(FeedQuery.of(request.query_params)))
        return found("Events retrieved", events, has_more=has_more)
