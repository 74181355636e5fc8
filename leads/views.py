"""Leads: list, detail and status update (interface 4.9, decision 18)."""

from rest_framework.request import Request
from rest_framework.response import Response

from leads.filters import LeadFilter
from leads.serializers import LeadSerializer, StatusUpdateInputSerializer
from leads.services import change_status
from pipeline_backend.api.exceptions import ResourceNotFound
from pipeline_backend.api.openapi import ActionResponse, DetailResponse, ListResponse, operation
from pipeline_backend.api.responses import action_response
from pipeline_backend.api.sql_serializers import NestedObject, SQLSerializer, UUIDField
from pipeline_backend.api.viewsets import ExternalViewSet
from statuses.serializers import StatusSerializer


class StatusUpdate(SQLSerializer):
    """A lead's new status."""

    id = UUIDField(help="The lead.")
    status = NestedObject(StatusSerializer)


class LeadViewSet(ExternalViewSet):
    """Leads."""

    @operation("List leads", answers={200: ListResponse(LeadSerializer)}, filters=LeadFilter)
    def list(self, request: Request) -> Response:
        """One page of the organization's leads, newest first."""
        chosen = LeadFilter(request.query_params, organization=self.organization)
        return self.list_of(LeadSerializer, chosen, message="Leads retrieved")

    @operation("Get a lead", answers={200: DetailResponse(LeadSerializer)})
    def retrieve(self, request: Request, id: str) -> Response:
        """One lead."""
        return self.detail_of(LeadSerializer, id, message="Lead retrieved")

    @operation("Update a lead's status", takes=StatusUpdateInputSerializer, answers={200: ActionResponse(StatusUpdate)})
    def update_status(self, request: Request, id: str) -> Response:
        """Move a lead to any status of the lead board. The same status again answers 200 and records nothing."""
        wanted = self.read(StatusUpdateInputSerializer)
        lead = change_status(organization=self.organization, actor=self.actor, lead_id=self.id_of(id), **wanted)
        if lead is None:
            raise ResourceNotFound
        status = StatusSerializer.one(self.organization, lead.status_id)
        return action_response("Lead status updated", {"id": lead.pk, "status": status})
