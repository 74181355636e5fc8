"""The statuses list (interface 4.8)."""

from uuid import UUID

from django.db.models.functions import Lower
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline_backend.api.responses import found
from pipeline_backend.api.schema import ListOf, operation
from pipeline_backend.api.shapes import Json
from pipeline_backend.api.viewsets import ExternalViewSet
from pipeline_backend.rows import Fixed
from statuses.shapes import StatusShape

BY_NAME: Fixed[tuple[UUID, str]] = Fixed(lambda: StatusShape.selected().order_by(Lower("name"), "id"))


class StatusViewSet(ExternalViewSet):
    """Sales statuses."""

    @operation("List statuses", answers={200: ListOf(StatusShape, paged=False)})
    def list(self, request: Request) -> Response:
        """Every status of the organization, ordered by name; neither paged nor filtered (interface 4.8)."""
        return found("Statuses retrieved", [Json(text) for _, text in BY_NAME.all(organization=self.organization.pk)])
