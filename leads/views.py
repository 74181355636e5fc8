"""The lead endpoints: list, detail and status update (docs/interface.md, L15 to L18)."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from foundation.api.exceptions import ResourceNotFound
from foundation.api.openapi import ActionResponse, DetailResponse, ListResponse, list_parameters
from foundation.api.responses import action_response, data_response
from foundation.api.viewsets import ExternalViewSet
from leads.filters import LeadFilter
from leads.serializers import LeadListSerializer, LeadSerializer, LeadStatusSerializer, StatusUpdateInputSerializer
from leads.services import change_status, find_merged
from statuses.serializers import StatusSerializer


class LeadViewSet(ExternalViewSet):
    """Leads."""

    @extend_schema(
        summary="List leads", parameters=list_parameters(LeadFilter), responses={200: ListResponse(LeadListSerializer)}
    )
    def list(self, request: Request) -> Response:
        """Return one page of the organization's leads, newest first."""
        return self.list_response(LeadListSerializer, LeadFilter, message="Leads retrieved")

    @extend_schema(summary="Get a lead", responses={200: DetailResponse(LeadSerializer)})
    def retrieve(self, request: Request, id: str) -> Response:
        """Return one lead by its id, or by the id of a lead that was merged into it."""
        lead_id = self.parse_id(id)
        lead = LeadSerializer.get(self.organization, lead_id)
        if lead is None and (merged_into := find_merged(organization=self.organization, lead_id=lead_id)):
            lead = LeadSerializer.get(self.organization, merged_into)
        if lead is None:
            raise ResourceNotFound
        return data_response("Lead retrieved", lead)

    @extend_schema(
        summary="Update a lead's status",
        request=StatusUpdateInputSerializer,
        responses={200: ActionResponse(LeadStatusSerializer)},
    )
    def update_status(self, request: Request, id: str) -> Response:
        """Move a lead to any status of the lead board. Repeating the same status returns 200 and records nothing."""
        data = self.validated(StatusUpdateInputSerializer)
        lead = change_status(organization=self.organization, actor=self.actor, lead_id=self.parse_id(id), **data)
        if lead is None:
            raise ResourceNotFound
        status = StatusSerializer.get(self.organization, lead.status_id)
        return action_response("Lead status updated", {"id": lead.pk, "status": status})
