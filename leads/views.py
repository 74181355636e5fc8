"""The lead endpoints, and the look-ups of sources and custom fields.

docs/interface.md, L15 to L18, L26 to L33, and L40 to L50.
"""

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from foundation.api import openapi
from foundation.api.batches import ImportViewSet, Row
from foundation.api.exceptions import ResourceNotFound
from foundation.api.responses import action_response, data_response
from foundation.api.viewsets import ExternalViewSet
from leads import serializers
from leads.filters import CustomFieldFilter, LeadFilter, LeadNoteFilter, LeadStatusChangeFilter, SourceFilter
from leads.notes import change_lead_note, delete_lead_note, write_lead_note
from leads.patches import patch_lead
from leads.privacy.erasing import request_erasure
from leads.services import change_status, find_merged
from leads.upserts import upsert_by_email
from statuses.serializers import StatusSerializer


class LeadViewSet(ImportViewSet):
    """Leads."""

    @extend_schema(
        summary="List leads",
        parameters=openapi.list_parameters(LeadFilter),
        responses={200: openapi.ListResponse(serializers.LeadItemSerializer, "Leads retrieved")},
    )
    def list(self, request: Request) -> Response:
        """Return one page of the organization's leads, newest first."""
        return self.list_response(serializers.LeadItemSerializer, LeadFilter, message="Leads retrieved")

    @extend_schema(
        summary="Create or complete a lead",
        request=serializers.LeadUpsertInputSerializer,
        responses={
            200: openapi.ActionResponse(serializers.UpsertedLeadSerializer, "Lead updated"),
            201: openapi.ActionResponse(serializers.UpsertedLeadSerializer, "Lead created"),
        },
    )
    def create(self, request: Request) -> Response:
        """Create the lead with this e-mail, or fill the empty fields of the one that has it. Safe to repeat.

        Known values stay, unless `overwrite` names their fields.
        """
        return self.create_one(dict(request.data))

    def create_one(self, row: Row) -> Response:
        data = self.validated(serializers.LeadUpsertInputSerializer, row)
        result = upsert_by_email(organization=self.organization, actor=self.actor, **data)
        message, status = ("Lead created", 201) if result.is_new else ("Lead updated", 200)
        return action_response(message, result._asdict(), status=status)

    @extend_schema(
        summary="Import leads",
        request=serializers.LeadImportInputSerializer,
        responses={200: openapi.ActionResponse(serializers.LeadImportSerializer, "Rows imported")},
    )
    def create_many(self, request: Request) -> Response:
        """Create or complete up to 200 leads, one after the other. A row that fails stops no other. Safe to repeat."""
        return self.import_rows(self.validated(serializers.LeadImportInputSerializer)["rows"], self.create_one)

    @extend_schema(
        summary="Get a lead",
        responses={200: openapi.DetailResponse(serializers.LeadDetailSerializer, "Lead retrieved")},
    )
    def retrieve(self, request: Request, id: str) -> Response:
        """Return one lead by its id, or by the id of a lead that was merged into it."""
        lead_id = self.parse_id(id)
        lead = serializers.LeadDetailSerializer.get(self.organization, lead_id)
        if lead is None and (merged_into := find_merged(organization=self.organization, lead_id=lead_id)):
            lead = serializers.LeadDetailSerializer.get(self.organization, merged_into)
        if lead is None:
            raise ResourceNotFound
        return data_response("Lead retrieved", lead)

    @extend_schema(
        summary="Update a lead",
        parameters=[openapi.IF_MATCH],
        request=serializers.LeadUpdateInputSerializer,
        responses={
            200: openapi.UpdateResponse(serializers.LeadDetailSerializer, "Lead updated"),
            409: OpenApiResponse(openapi.ERROR, "The lead was erased."),
            412: openapi.ChangedResponse(
                serializers.LeadDetailSerializer, "The lead has another updated_at than If-Match"
            ),
        },
    )
    def update(self, request: Request, id: str) -> Response:
        """Change names, phone, setter and custom values. A request that changes nothing records nothing."""
        changes, version = self.validated(serializers.LeadUpdateInputSerializer), self.required_version()
        data = patch_lead(
            organization=self.organization,
            actor=self.actor,
            lead_id=self.parse_id(id),
            version=version,
            changes=changes,
        )
        return action_response("Lead updated", data)

    @extend_schema(
        summary="Erase a lead",
        request=None,
        responses={202: openapi.ActionResponse(serializers.LeadErasureSerializer, "Lead erasure accepted")},
    )
    def erase(self, request: Request, id: str) -> Response:
        """Erase all personal data of a lead, for good: at once, or soon if much is stored about it. Safe to repeat."""
        erasure = request_erasure(organization=self.organization, actor=self.actor, lead_id=self.parse_id(id))
        state = "done" if erasure.finished_at else "running"
        return action_response("Lead erasure accepted", {"id": erasure.lead_id, "state": state}, status=202)

    @extend_schema(
        summary="Update a lead's status",
        request=serializers.StatusUpdateInputSerializer,
        responses={200: openapi.ActionResponse(serializers.StatusUpdateSerializer, "Lead status updated")},
    )
    def update_status(self, request: Request, id: str) -> Response:
        """Move a lead to any status of the lead board. Repeating the same status returns 200 and records nothing."""
        data = self.validated(serializers.StatusUpdateInputSerializer)
        lead = change_status(organization=self.organization, actor=self.actor, lead_id=self.parse_id(id), **data)
        if lead is None:
            raise ResourceNotFound
        status = StatusSerializer.get(self.organization, lead.status_id)
        return action_response("Lead status updated", {"id": lead.pk, "status": status})

    @extend_schema(
        summary="List a lead's status changes",
        parameters=openapi.list_parameters(LeadStatusChangeFilter),
        responses={200: openapi.ListResponse(serializers.LeadStatusChangeSerializer, "Status changes retrieved")},
    )
    def list_status_changes(self, request: Request, id: str) -> Response:
        """Return one page of the changes of a lead's status, newest first."""
        return self.list_response(
            serializers.LeadStatusChangeSerializer,
            LeadStatusChangeFilter,
            message="Status changes retrieved",
            parent_id=id,
        )

    @extend_schema(
        summary="List notes of a lead",
        parameters=openapi.list_parameters(LeadNoteFilter),
        responses={200: openapi.ListResponse(serializers.LeadNoteItemSerializer, "Notes retrieved")},
    )
    def list_notes(self, request: Request, id: str) -> Response:
        """Return one page of the lead's notes, newest first."""
        return self.list_response(
            serializers.LeadNoteItemSerializer, LeadNoteFilter, message="Notes retrieved", parent_id=id
        )

    @extend_schema(
        summary="Add a note to a lead",
        request=serializers.LeadNoteInputSerializer,
        responses={
            200: openapi.ActionResponse(serializers.LeadNoteItemSerializer, "Note already exists"),
            201: openapi.ActionResponse(serializers.LeadNoteItemSerializer, "Note created"),
            409: OpenApiResponse(openapi.ERROR, "The reference belongs to a note with another text."),
        },
    )
    def create_note(self, request: Request, id: str) -> Response:
        """Add a note. A repeated reference, or without one a text that the lead has, returns the note: 200."""
        data = self.validated(serializers.LeadNoteInputSerializer)
        note, is_new = write_lead_note(
            organization=self.organization, actor=self.actor, lead_id=self.parse_id(id), **data
        )
        message, status = ("Note created", 201) if is_new else ("Note already exists", 200)
        return action_response(message, note, status=status)

    @extend_schema(
        summary="Change a note of a lead",
        request=serializers.LeadNoteUpdateInputSerializer,
        responses={
            200: openapi.UpdateResponse(serializers.LeadNoteItemSerializer, "Note updated"),
            403: OpenApiResponse(openapi.ERROR, "Only the API key that wrote the note can change or delete it."),
        },
    )
    def update_note(self, request: Request, id: str, note_id: str) -> Response:
        """Change a note that the request's key wrote."""
        changes = self.validated(serializers.LeadNoteUpdateInputSerializer)
        note = change_lead_note(
            organization=self.organization,
            actor=self.actor,
            lead_id=self.parse_id(id),
            note_id=self.parse_id(note_id),
            **changes,
        )
        return action_response("Note updated", note)

    @extend_schema(
        summary="Delete a note of a lead",
        responses={
            200: openapi.ActionResponse(serializers.DeletedNoteSerializer, "Note deleted"),
            403: OpenApiResponse(openapi.ERROR, "Only the API key that wrote the note can change or delete it."),
        },
    )
    def delete_note(self, request: Request, id: str, note_id: str) -> Response:
        """Delete a note that the request's key wrote."""
        lead_id, own_id = self.parse_id(id), self.parse_id(note_id)
        delete_lead_note(organization=self.organization, actor=self.actor, lead_id=lead_id, note_id=own_id)
        return action_response("Note deleted", {"id": own_id})


class SourceViewSet(ExternalViewSet):
    """Look-ups."""

    @extend_schema(
        summary="List sources",
        parameters=openapi.list_parameters(SourceFilter),
        responses={200: openapi.ListResponse(serializers.SourceItemSerializer, "Sources retrieved")},
    )
    def list(self, request: Request) -> Response:
        """Return one page of the organization's sources, ordered by name."""
        return self.list_response(serializers.SourceItemSerializer, SourceFilter, message="Sources retrieved")


class CustomFieldViewSet(ExternalViewSet):
    """Look-ups."""

    @extend_schema(
        summary="List custom fields",
        parameters=openapi.list_parameters(CustomFieldFilter),
        responses={200: openapi.ListResponse(serializers.CustomFieldItemSerializer, "Custom fields retrieved")},
    )
    def list(self, request: Request) -> Response:
        """Return one page of the custom fields of leads and appointments, ordered by name."""
        return self.list_response(
            serializers.CustomFieldItemSerializer, CustomFieldFilter, message="Custom fields retrieved"
        )
