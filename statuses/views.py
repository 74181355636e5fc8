"""The statuses list (interface 4.8)."""

from django.db.models.functions import Lower
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline_backend.api.responses import found
from pipeline_backend.api.schema import ListOf, operation
from pipeline_backend.api.viewsets import ExternalViewSet
from statuses.models import Status
from statuses.shapes import StatusShape


class StatusViewSet(ExternalViewSet):
    """Sales statuses."""

    @operation("List statuses", answers={200: ListOf(StatusShape, paged=False)})
    def list(self, request: Request) -> Response:
        """Every status of the organization, ordered by name; neither paged nor filtered (interface 4.8)."""
        ids = Status.objects.of(self.organization).order_by(Lower("name"), "id").values_list("pk", flat=True)
        return found("Statuses retrieved", StatusShape.of(self.organization, ids))
