"""Opt-ins: submit, list and detail (interface 4.5 to 4.7)."""

from rest_framework.request import Request
from rest_framework.response import Response

from optins.filters import OptInFilter
from optins.serializers import OptInInput
from optins.services import submit
from optins.shapes import OptInDetail, OptInItem
from pipeline_backend.api.responses import done
from pipeline_backend.api.schema import Done, ListOf, One, operation
from pipeline_backend.api.shapes import Flag, Shape, Uuid
from pipeline_backend.api.viewsets import ExternalViewSet


class Submitted(Shape):
    """What became of a submission."""

    opt_in_id = Uuid()
    lead_id = Uuid()
    is_new_lead = Flag()


class OptInViewSet(ExternalViewSet):
    """Opt-ins."""

    @operation("Submit an opt-in", takes=OptInInput, answers={201: Done(Submitted), 200: Done(Submitted)})
    def submit(self, request: Request) -> Response:
        """Record a form submission: 201 if its lead is new, 200 if it was known.

        With an `external_reference` the call is safe to repeat: the same reference and source answer with the stored record.
        """
        submission = submit(organization=self.organization, actor=self.actor, **self.read(OptInInput))
        if submission.is_new_lead:
            return done("Lead created via opt-in", vars(submission), code=201)
        return done("Opt-in recorded", vars(submission))

    @operation("List opt-ins", answers={200: ListOf(OptInItem)}, filters=OptInFilter)
    def list(self, request: Request) -> Response:
        """One page of the organization's opt-ins, newest first (interface 4.6)."""
        chosen = OptInFilter(request.query_params, organization=self.organization)
        return self.list_of(OptInItem, chosen, message="Opt-ins retrieved")

    @operation("Get an opt-in", answers={200: One(OptInDetail)})
    def retrieve(self, request: Request, id: str) -> Response:
        """One opt-in with its answers and traffic (interface 4.7)."""
        return self.detail_of(OptInDetail, id, message="Opt-in retrieved")
