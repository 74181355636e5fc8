"""The endpoint for the integrations of schedulers (docs/interface.md, A67 to A75)."""

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from appointments.input_serializers import SyncInputSerializer, SyncPathSerializer
from appointments.serializers import SyncedAppointmentSerializer
from appointments.services import sync_appointment
from foundation.api.openapi import ERROR, ActionResponse
from foundation.api.responses import action_response
from foundation.api.viewsets import ExternalViewSet
from organizations.models import Scope


class SyncViewSet(ExternalViewSet):
    """Appointments."""

    scope = Scope.SYNC

    @extend_schema(
        summary="Sync a scheduler's booking",
        request=SyncInputSerializer,
        responses={
            200: ActionResponse(SyncedAppointmentSerializer, "Appointment synced"),
            201: ActionResponse(SyncedAppointmentSerializer, "Appointment created"),
            404: OpenApiResponse(ERROR, "The reference has a slash."),
        },
    )
    def sync(self, request: Request, source: str, external_reference: str) -> Response:
        """Store the whole state of a booking, in any order: an older state, or a replaced one, changes nothing.

        Requires the scope `sync`.
        """
        data = self.validated(SyncInputSerializer)
        data |= self.validated(SyncPathSerializer, {"source": source, "external_reference": external_reference})
        booking = sync_appointment(organization=self.organization, actor=self.actor, **data)
        result = {"id": booking.id, "applied": booking.is_applied}
        message, status = ("Appointment created", 201) if booking.is_new else ("Appointment synced", 200)
        return action_response(message, result, status=status)
