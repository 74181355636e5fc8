"""The endpoint that resets a test organization (docs/interface.md, G64 to G66)."""

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from appointments.serializers import ResetSerializer
from appointments.services import reset_test_data
from foundation.api.openapi import ERROR, ActionResponse
from foundation.api.responses import action_response
from foundation.api.viewsets import ExternalViewSet


class ResetViewSet(ExternalViewSet):
    """Look-ups."""

    @extend_schema(
        summary="Reset a test organization",
        request=None,
        responses={
            200: ActionResponse(ResetSerializer, "Test data deleted"),
            409: OpenApiResponse(ERROR, "The organization is not a test organization."),
        },
    )
    def create(self, request: Request) -> Response:
        """Delete all leads, opt-ins, appointments, events and notifications of a test organization.

        Its members, keys, webhook endpoints, statuses, event types, sources and custom fields stay.
        """
        return action_response("Test data deleted", reset_test_data(organization=self.organization)._asdict())
