"""The appointment endpoints, and the look-up of event types (docs/interface.md, A8 to A26, A33 to A42, A50, A64)."""

from collections.abc import Mapping

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from appointments import input_serializers, serializers
from appointments.filters import AppointmentFilter, EventTypeFilter, NoteFilter, OutcomeChangeFilter
from appointments.models import RememberedCancellation
from appointments.services import (
    book,
    cancel_by_reference,
    cancel_or_remember,
    change_note,
    delete_note,
    is_reference_known,
    patch_appointment,
    put_analysis,
    reschedule_by_reference,
    write_note,
)
from foundation.api import openapi
from foundation.api.batches import ImportViewSet, Row
from foundation.api.exceptions import ValidationFailed
from foundation.api.fields import MAX_NAME_LENGTH
from foundation.api.responses import action_response
from foundation.api.viewsets import ExternalViewSet
from foundation.db.timestamps import isoformat_z
from leads.serializers import DeletedNoteSerializer

APPOINTMENT = ("appointment", serializers.AppointmentDetailSerializer)


class AppointmentViewSet(ImportViewSet):
    """Appointments."""

    def has_known_reference(self, data: Mapping[str, object]) -> bool:
        if self.action == "create":
            return is_reference_known(self.organization, data.get("external_reference"))
        return super().has_known_reference(data)

    @extend_schema(
        summary="Create an appointment",
        parameters=[openapi.PREFER],
        request=input_serializers.BookingInputSerializer,
        responses={
            200: openapi.ActionResponse(serializers.BookedSerializer, "Appointment already exists", APPOINTMENT),
            201: openapi.ActionResponse(serializers.BookedSerializer, "Appointment created", APPOINTMENT),
            409: OpenApiResponse(openapi.ERROR, "The reference is booked for another time."),
        },
    )
    def create(self, request: Request) -> Response:
        """Book an appointment. Returns 201 for a new reference, 200 if it is booked already for this time.

        If the appointment has been moved since, its first and its present time both count as the same. The lead is
        found by e-mail and the event type by name; each is created if there is none.
        """
        response = self.create_one(dict(request.data))
        return self.with_representation(response, *APPOINTMENT, response.data["data"]["id"])

    def create_one(self, row: Row) -> Response:
        booking = book(
            organization=self.organization,
            actor=self.actor,
            **self.validated(input_serializers.BookingInputSerializer, row),
        )
        message, status = ("Appointment created", 201) if booking.is_new else ("Appointment already exists", 200)
        return action_response(message, {"id": booking.id, "is_duplicate": not booking.is_new}, status=status)

    @extend_schema(
        summary="Import appointments",
        request=input_serializers.AppointmentImportInputSerializer,
        responses={200: openapi.ActionResponse(serializers.AppointmentImportSerializer, "Rows imported")},
    )
    def create_many(self, request: Request) -> Response:
        """Book up to 200 appointments, one after the other. A row that fails stops no other. Safe to repeat.

        No one is notified, unless `notify` is true.
        """
        data = self.validated(input_serializers.AppointmentImportInputSerializer)
        notify = bool(data["notify"])
        return self.import_rows(
            data["rows"], lambda row: self.create_one({**row, "notify": notify, "notify_lead": False})
        )

    @extend_schema(
        summary="Reschedule an appointment",
        parameters=[openapi.PREFER],
        request=input_serializers.ReschedulingInputSerializer,
        responses={
            200: openapi.ActionResponse(serializers.RescheduledSerializer, "Appointment rescheduled", APPOINTMENT),
            404: OpenApiResponse(openapi.ERROR, "No appointment has this reference."),
            409: OpenApiResponse(
                openapi.ERROR, "Another appointment has the new reference, or a scheduler manages this one."
            ),
        },
    )
    def reschedule(self, request: Request) -> Response:
        """Move an appointment that was booked through this API to another time. Safe to repeat.

        With `new_external_reference` the appointment keeps its id, and all its references lead to it from then on. A
        canceled appointment is booked again.
        """
        appointment = reschedule_by_reference(
            organization=self.organization,
            actor=self.actor,
            **self.validated(input_serializers.ReschedulingInputSerializer),
        )
        response = action_response("Appointment rescheduled", {"id": appointment.pk})
        return self.with_representation(response, *APPOINTMENT, appointment.pk)

    @extend_schema(
        summary="Cancel an appointment",
        parameters=[openapi.PREFER],
        request=input_serializers.CancellationInputSerializer,
        responses={
            200: openapi.ActionResponse(serializers.CanceledSerializer, "Appointment canceled", APPOINTMENT),
            202: openapi.ActionResponse(serializers.RememberedCancellationSerializer, "Cancellation remembered"),
            404: OpenApiResponse(openapi.ERROR, "No appointment has this reference."),
            409: OpenApiResponse(openapi.ERROR, "A scheduler manages the appointment."),
        },
    )
    def cancel(self, request: Request) -> Response:
        """Cancel an appointment that was booked through this API. Safe to repeat.

        With `if_unknown`, a cancellation that comes before its booking is kept for 24 hours.
        """
        data = self.validated(input_serializers.CancellationInputSerializer)
        cancel = cancel_or_remember if data.pop("if_unknown", None) else cancel_by_reference
        appointment = cancel(organization=self.organization, actor=self.actor, **data)
        if isinstance(appointment, RememberedCancellation):
            remembered_until = isoformat_z(appointment.created_at + appointment.KEPT)
            result = {"external_reference": appointment.external_reference, "remembered_until": remembered_until}
            return action_response("Cancellation remembered", result, status=202)
        response = action_response("Appointment canceled", {"id": appointment.pk})
        return self.with_representation(response, *APPOINTMENT, appointment.pk)

    @extend_schema(
        summary="List appointments",
        parameters=openapi.list_parameters(AppointmentFilter),
        responses={200: openapi.ListResponse(serializers.AppointmentItemSerializer, "Appointments retrieved")},
    )
    def list(self, request: Request) -> Response:
        """Return one page of the organization's appointments, newest first."""
        return self.list_response(
            serializers.AppointmentItemSerializer, AppointmentFilter, message="Appointments retrieved"
        )

    @extend_schema(
        summary="Get an appointment",
        responses={200: openapi.DetailResponse(serializers.AppointmentDetailSerializer, "Appointment retrieved")},
    )
    def retrieve(self, request: Request, id: str) -> Response:
        """Return one appointment with its sources and opt-ins."""
        return self.detail_response(serializers.AppointmentDetailSerializer, id, message="Appointment retrieved")

    @extend_schema(
        summary="Update an appointment",
        parameters=[openapi.IF_MATCH],
        request=input_serializers.AppointmentUpdateInputSerializer,
        responses={
            200: openapi.UpdateResponse(serializers.AppointmentDetailSerializer, "Appointment updated"),
            409: OpenApiResponse(openapi.ERROR, "The lead was erased, and a value can be personal."),
            412: openapi.ChangedResponse(
                serializers.AppointmentDetailSerializer, "The appointment has another updated_at than If-Match"
            ),
        },
    )
    def update(self, request: Request, id: str) -> Response:
        """Change outcome, members, URLs, category and custom values, with the effects that changes by staff have.

        A request that changes nothing records nothing.
        """
        changes, version = self.validated(input_serializers.AppointmentUpdateInputSerializer), self.required_version()
        data = patch_appointment(
            organization=self.organization,
            actor=self.actor,
            appointment_id=self.parse_id(id),
            version=version,
            changes=changes,
        )
        return action_response("Appointment updated", data)

    @extend_schema(
        summary="List an appointment's outcome changes",
        parameters=openapi.list_parameters(OutcomeChangeFilter),
        responses={200: openapi.ListResponse(serializers.OutcomeChangeSerializer, "Outcome changes retrieved")},
    )
    def list_outcome_changes(self, request: Request, id: str) -> Response:
        """Return one page of the changes of an appointment's outcome, newest first."""
        return self.list_response(
            serializers.OutcomeChangeSerializer, OutcomeChangeFilter, message="Outcome changes retrieved", parent_id=id
        )

    @extend_schema(
        summary="Store a call analysis",
        request=input_serializers.CallAnalysisInputSerializer,
        responses={
            200: openapi.ActionResponse(serializers.CallAnalysisSerializer, "Call analysis updated"),
            201: openapi.ActionResponse(serializers.CallAnalysisSerializer, "Call analysis created"),
            404: OpenApiResponse(openapi.ERROR, "No appointment has the reference, or matches."),
            409: OpenApiResponse(
                openapi.ERROR, "Several appointments match, or the appointment has another call's analysis."
            ),
        },
    )
    def update_analysis(self, request: Request, call_analysis_call_id: str) -> Response:
        """Store the analysis of a call at its appointment, or replace the one that is stored. Safe to repeat.

        The appointment is named by its id or a reference, or found by host and time.
        """
        call_id = call_analysis_call_id
        if not (call_id.strip() and call_id.isprintable() and len(call_id) <= MAX_NAME_LENGTH):
            raise ValidationFailed({"call_analysis_call_id": [f"must be 1 to {MAX_NAME_LENGTH} printable characters"]})
        data = self.validated(input_serializers.CallAnalysisInputSerializer)
        analysis, is_new = put_analysis(organization=self.organization, actor=self.actor, call_id=call_id, **data)
        message, status = ("Call analysis created", 201) if is_new else ("Call analysis updated", 200)
        return action_response(message, analysis, status=status)

    @extend_schema(
        summary="List notes of an appointment",
        parameters=openapi.list_parameters(NoteFilter),
        responses={200: openapi.ListResponse(serializers.NoteItemSerializer, "Notes retrieved")},
    )
    def list_notes(self, request: Request, id: str) -> Response:
        """Return one page of the appointment's notes, newest first."""
        return self.list_response(serializers.NoteItemSerializer, NoteFilter, message="Notes retrieved", parent_id=id)

    @extend_schema(
        summary="Add a note to an appointment",
        request=input_serializers.NoteInputSerializer,
        responses={
            200: openapi.ActionResponse(serializers.NoteItemSerializer, "Note already exists"),
            201: openapi.ActionResponse(serializers.NoteItemSerializer, "Note created"),
            409: OpenApiResponse(openapi.ERROR, "The reference belongs to a note with another text."),
        },
    )
    def create_note(self, request: Request, id: str) -> Response:
        """Add a note. A repeated reference, or without one a text that the appointment has, returns the note: 200."""
        data = self.validated(input_serializers.NoteInputSerializer)
        note, is_new = write_note(
            organization=self.organization, actor=self.actor, appointment_id=self.parse_id(id), **data
        )
        message, status = ("Note created", 201) if is_new else ("Note already exists", 200)
        return action_response(message, note, status=status)

    @extend_schema(
        summary="Change a note of an appointment",
        request=input_serializers.NoteUpdateInputSerializer,
        responses={
            200: openapi.UpdateResponse(serializers.NoteItemSerializer, "Note updated"),
            403: OpenApiResponse(openapi.ERROR, "Only the API key that wrote the note can change or delete it."),
        },
    )
    def update_note(self, request: Request, id: str, note_id: str) -> Response:
        """Change a note that the request's key wrote."""
        changes = self.validated(input_serializers.NoteUpdateInputSerializer)
        note = change_note(
            organization=self.organization,
            actor=self.actor,
            appointment_id=self.parse_id(id),
            note_id=self.parse_id(note_id),
            changes=changes,
        )
        return action_response("Note updated", note)

    @extend_schema(
        summary="Delete a note of an appointment",
        responses={
            200: openapi.ActionResponse(DeletedNoteSerializer, "Note deleted"),
            403: OpenApiResponse(openapi.ERROR, "Only the API key that wrote the note can change or delete it."),
        },
    )
    def delete_note(self, request: Request, id: str, note_id: str) -> Response:
        """Delete a note that the request's key wrote."""
        appointment_id, own_id = self.parse_id(id), self.parse_id(note_id)
        delete_note(organization=self.organization, actor=self.actor, appointment_id=appointment_id, note_id=own_id)
        return action_response("Note deleted", {"id": own_id})


class EventTypeViewSet(ExternalViewSet):
    """Look-ups."""

    @extend_schema(
        summary="List event types",
        parameters=openapi.list_parameters(EventTypeFilter),
        responses={200: openapi.ListResponse(serializers.EventTypeItemSerializer, "Event types retrieved")},
    )
    def list(self, request: Request) -> Response:
        """Return one page of the organization's event types, ordered by name."""
        return self.list_response(serializers.EventTypeItemSerializer, EventTypeFilter, message="Event types retrieved")
