"""Appointments: create, cancel, list and detail (interface 4.1 to 4.4)."""

from rest_framework.request import Request
from rest_framework.response import Response

from appointments.filters import AppointmentFilter
from appointments.serializers import (
    AppointmentDetailSerializer,
    AppointmentListSerializer,
    BookingInputSerializer,
    CancellationInputSerializer,
)
from appointments.services import book, cancel
from pipeline_backend.api.openapi import ActionResponse, DetailResponse, ListResponse, operation
from pipeline_backend.api.responses import action_response
from pipeline_backend.api.sql_serializers import BooleanField, SQLSerializer, UUIDField
from pipeline_backend.api.viewsets import ExternalViewSet


class Booked(SQLSerializer):
    """A booking's answer."""

    id = UUIDField()
    is_duplicate = BooleanField(help_text="True if the reference was booked before, for the same time.")


class Canceled(SQLSerializer):
    """A cancellation's answer."""

    id = UUIDField()


class AppointmentViewSet(ExternalViewSet):
    """Appointments."""

    @operation(
        "Create an appointment",
        request=BookingInputSerializer,
        responses={201: ActionResponse(Booked), 200: ActionResponse(Booked)},
        errors={409: "The reference is booked for another time."},
    )
    def create(self, request: Request) -> Response:
        """Book a call: 201 for a new reference, 200 for a repeated one at the same time (interface 4.1).

        The lead is found by e-mail and the event type by name, each made if it is new.
        """
        booking = book(organization=self.organization, actor=self.actor, **self.validated(BookingInputSerializer))
        if booking.is_new:
            return action_response("Appointment created", {"id": booking.id, "is_duplicate": False}, status=201)
        return action_response("Appointment already exists", {"id": booking.id, "is_duplicate": True})

    @operation(
        "Cancel an appointment",
        request=CancellationInputSerializer,
        responses={200: ActionResponse(Canceled)},
        errors={404: "No appointment for the reference.", 409: "The appointment is managed by a booking provider."},
    )
    def cancel(self, request: Request) -> Response:
        """Cancel a booking made through this interface; safe to repeat (interface 4.2)."""
        appointment = cancel(
            organization=self.organization, actor=self.actor, **self.validated(CancellationInputSerializer)
        )
        return action_response("Appointment canceled", {"id": appointment.pk})

    @operation("List appointments", responses={200: ListResponse(AppointmentListSerializer)}, filters=AppointmentFilter)
    def list(self, request: Request) -> Response:
        """One page of the organization's appointments, newest first (interface 4.3)."""
        chosen = AppointmentFilter(request.query_params, organization=self.organization)
        return self.list_response(AppointmentListSerializer, chosen, message="Appointments retrieved")

    @operation("Get an appointment", responses={200: DetailResponse(AppointmentDetailSerializer)})
    def retrieve(self, request: Request, id: str) -> Response:
        """One appointment with its sources and opt-ins (interface 4.4)."""
        return self.detail_response(AppointmentDetailSerializer, id, message="Appointment retrieved")
