"""The appointment endpoints: create, cancel, list and detail (docs/interface.md, A8 to A26)."""

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from appointments.filters import AppointmentFilter
from appointments.serializers import (
    AppointmentDetailSerializer,
    AppointmentListSerializer,
    BookingInputSerializer,
    BookingSerializer,
    CancellationInputSerializer,
    CancellationSerializer,
)
from appointments.services import book, cancel_by_reference
from foundation.api.openapi import ERROR, ActionResponse, DetailResponse, ListResponse, list_parameters
from foundation.api.responses import action_response
from foundation.api.viewsets import ExternalViewSet


class AppointmentViewSet(ExternalViewSet):
    """Appointments."""

    @extend_schema(
        summary="Create an appointment",
        request=BookingInputSerializer,
        responses={
            200: ActionResponse(BookingSerializer),
            201: ActionResponse(BookingSerializer),
            409: OpenApiResponse(ERROR, "The reference is booked for another time."),
        },
    )
    def create(self, request: Request) -> Response:
        """Book an appointment. Returns 201 for a new reference, 200 if it is booked already for this time.

        If the appointment has been moved since, its first and its present time both count as the same. The lead is
        found by e-mail and the event type by name; each is created if there is none.
        """
        booking = book(organization=self.organization, actor=self.actor, **self.validated(BookingInputSerializer))
        if booking.is_new:
            return action_response("Appointment created", {"id": booking.id, "is_duplicate": False}, status=201)
        return action_response("Appointment already exists", {"id": booking.id, "is_duplicate": True})

    @extend_schema(
        summary="Cancel an appointment",
        request=CancellationInputSerializer,
        responses={
            200: ActionResponse(CancellationSerializer),
            404: OpenApiResponse(ERROR, "No appointment has this reference."),
            409: OpenApiResponse(ERROR, "A scheduler manages the appointment."),
        },
    )
    def cancel(self, request: Request) -> Response:
        """Cancel an appointment that was booked through this API. Safe to repeat."""
        appointment = cancel_by_reference(
            organization=self.organization, actor=self.actor, **self.validated(CancellationInputSerializer)
        )
        return action_response("Appointment canceled", {"id": appointment.pk})

    @extend_schema(
        summary="List appointments",
        parameters=list_parameters(AppointmentFilter),
        responses={200: ListResponse(AppointmentListSerializer)},
    )
    def list(self, request: Request) -> Response:
        """Return one page of the organization's appointments, newest first."""
        return self.list_response(AppointmentListSerializer, AppointmentFilter, message="Appointments retrieved")

    @extend_schema(summary="Get an appointment", responses={200: DetailResponse(AppointmentDetailSerializer)})
    def retrieve(self, request: Request, id: str) -> Response:
        """Return one appointment with its sources and opt-ins."""
        return self.detail_response(AppointmentDetailSerializer, id, message="Appointment retrieved")
