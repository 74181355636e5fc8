"""Leads: list, detail and status update (interface 4.9, decision 18)."""

from rest_framework.request import Request
from rest_framework.response import Response

from leads.filters import LeadFilter
from leads.serializers import StatusUpdateInput
from leads.services import change_status
from leads.shapes import LeadDetail
from pipeline_backend.api.exceptions import Missing
from pipeline_backend.api.responses import done
from pipeline_backend.api.schema import Done, ListOf, One, operation
from pipeline_backend.api.shapes import Nested, Shape, Uuid
from pipeline_backend.api.viewsets import ExternalViewSet
from statuses.shapes import StatusShape


class StatusUpdate(Shape):
    """A lead's new status."""

    id = Uuid(help="The lead.")
    status = Nested(StatusShape)


class LeadViewSet(ExternalViewSet):
    """Leads."""

    @operation("List leads", answers={200: ListOf(LeadDetail)}, filters=LeadFilter)
    def list(self, request: Request) -> Response:
        """One page of the organization's leads, newest first."""
        chosen = LeadFilter(request.query_params, organization=self.organization)
        return self.list_of(LeadDetail, chosen, message="Leads retrieved")

    @operation("Get a lead", answers={200: One(LeadDetail)})
    def retrieve(self, request: Request, id: str) -> Response:
        """One lead."""
        return self.detail_of(LeadDetail, id, message="Lead retrieved")

    @operation("Update a lead's status", takes=StatusUpdateInput, answers={200: Done(StatusUpdate)})
    def update_status(self, request: Request, id: str) -> Response:
        """Move a lead to any status of the lead board. The same status again answers 200 and records nothing."""
        wanted = self.read(StatusUpdateInput)
        lead = change_status(organization=self.organization, actor=self.actor, lead_id=self.id_of(id), **wanted)
        if lead is None:
            raise Missing
        status = StatusShape.one(self.organization, lead.status_id)
        return done("Lead status updated", {"id": lead.pk, "status": status})
