"""Appointments: create, cancel, list and detail (interface 4.1 to 4.4)."""

from rest_framework.request import Request
from rest_framework.response import Response

from appointments.filters import AppointmentFilter
from appointments.serializers import BookingInput, CancellationInput
from appointments.services import book, cancel
from appointments.shapes import AppointmentDetail, AppointmentItem
from pipeline_backend.api.responses import done
from pipeline_backend.api.schema import Done, ListOf, One, operation
from pipeline_backend.api.shapes import Flag, Shape, Uuid
from pipeline_backend.api.viewsets import ExternalViewSet


class Booked(Shape):
    """A booking's answer."""

    id = Uuid()
    is_duplicate = Flag(help="True if the reference was booked before, for the same time.")


class Canceled(Shape):
    """A cancellation's answer."""

    id = Uuid()


class AppointmentViewSet(ExternalViewSet):
    """Appointments."""

    @operation(
        "Create an appointment", takes=BookingInput, answers={201: Done(Booked), 200: Done(Booked)}, errors={409: "The reference is booked for another time."}
    )
    def create(self, request: Request) -> Response:
        """Book a call: 201 for a new reference, 200 for a repeated one at the same time (interface 4.1).

        The lead is found by e-mail and the event type by name, each made if it is new.
        """
        booking = book(organization=self.organization, actor=self.actor, **self.read(BookingInput))
        if booking.is_new:
            return done("Appointment created", {"id": booking.id, "is_duplicate": False}, code=201)
        return done("Appointment already exists", {"id": booking.id, "is_duplicate": True})

    @operation(
        "Cancel an appointment",
        takes=CancellationInput,
        answers={200: Done(Canceled)},
        errors={404: "No appointment for the reference.", 409: "The appointment is managed by a booking provider."},
    )
    def cancel(self, request: Request) -> Response:
        """Cancel a booking made through this interface; safe to repeat (interface 4.2)."""
        appointment = cancel(organization=self.organization, actor=self.actor, **self.read(CancellationInput))
        return done("Appointment canceled", {"id": appointment.pk})

    @operation("List appointments", answers={200: ListOf(AppointmentItem)}, filters=AppointmentFilter)
    def list(self, request: Request) -> Response:
        """One page of the organization's appointments, newest first (interface 4.3)."""
        chosen = AppointmentFilter(request.query_params, organization=self.organization)
        return self.list_of(AppointmentItem, chosen, message="Appointments retrieved")

    @operation("Get an appointment", answers={200: One(AppointmentDetail)})
    def retrieve(self, request: Request, id: str) -> Response:
        """One appointment with its sources and opt-ins (interface 4.4)."""
        return self.detail_of(AppointmentDetail, id, message="Appointment retrieved")
