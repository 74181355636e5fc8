"""Opt-ins: submit, list and detail (interface 4.5 to 4.7)."""

from rest_framework.request import Request
from rest_framework.response import Response

from optins.filters import OptInFilter
from optins.serializers import OptInDetailSerializer, OptInInputSerializer, OptInListSerializer
from optins.services import submit
from pipeline_backend.api.openapi import ActionResponse, DetailResponse, ListResponse, operation
from pipeline_backend.api.responses import action_response
from pipeline_backend.api.sql_serializers import BooleanField, SQLSerializer, UUIDField
from pipeline_backend.api.viewsets import ExternalViewSet


class Submitted(SQLSerializer):
    """What became of a submission."""

    opt_in_id = UUIDField()
    lead_id = UUIDField()
    is_new_lead = BooleanField()


class OptInViewSet(ExternalViewSet):
    """Opt-ins."""

    @operation(
        "Submit an opt-in",
        takes=OptInInputSerializer,
        answers={201: ActionResponse(Submitted), 200: ActionResponse(Submitted)},
    )
    def submit(self, request: Request) -> Response:
        """Record a form submission: 201 if its lead is new, 200 if it was known.

        With an `external_reference` the call is safe to repeat: the same reference and source answer with the stored record.
        """
        submission = submit(organization=self.organization, actor=self.actor, **self.read(OptInInputSerializer))
        if submission.is_new_lead:
            return action_response("Lead created via opt-in", vars(submission), code=201)
        return action_response("Opt-in recorded", vars(submission))

    @operation("List opt-ins", answers={200: ListResponse(OptInListSerializer)}, filters=OptInFilter)
    def list(self, request: Request) -> Response:
        """One page of the organization's opt-ins, newest first (interface 4.6)."""
        chosen = OptInFilter(request.query_params, organization=self.organization)
        return self.list_of(OptInListSerializer, chosen, message="Opt-ins retrieved")

    @operation("Get an opt-in", answers={200: DetailResponse(OptInDetailSerializer)})
    def retrieve(self, request: Request, id: str) -> Response:
        """One opt-in with its answers and traffic (interface 4.7)."""
        return self.detail_of(OptInDetailSerializer, id, message="Opt-in retrieved")
