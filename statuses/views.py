"""The statuses list (docs/interface.md, S4)."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from foundation.api.openapi import ListResponse
from foundation.api.responses import data_response
from foundation.api.sql_serializers import Json
from foundation.api.viewsets import ExternalViewSet
from foundation.db.compiled import CompiledQuery
from statuses.models import BY_NAME
from statuses.serializers import StatusSerializer

# Compiled for the benchmark "statuses".
STATUSES_BY_NAME: CompiledQuery[tuple[UUID, str]] = CompiledQuery(
    lambda: StatusSerializer.base_query().order_by(BY_NAME, "id")
)


class StatusViewSet(ExternalViewSet):
    """Sales statuses."""

    @extend_schema(
        summary="List statuses", responses={200: ListResponse(StatusSerializer, "Statuses retrieved", extra={})}
    )
    def list(self, request: Request) -> Response:
        """Return all statuses of the organization, ordered by name. The list has no pages and no filters."""
        rows = STATUSES_BY_NAME.all(organization=self.organization.pk)
        return data_response("Statuses retrieved", [Json(text) for _, text in rows])
