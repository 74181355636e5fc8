"""The opt-in endpoints: submit, list and detail (docs/interface.md, O1 to O13)."""

from collections.abc import Mapping

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from foundation.api.openapi import ERROR, PREFER, ActionResponse, DetailResponse, ListResponse, list_parameters
from foundation.api.responses import action_response
from foundation.api.viewsets import ExternalViewSet
from optins import serializers
from optins.filters import OptInFilter
from optins.services import is_submitted, submit, sync_opt_in
from organizations.models import Scope

OPT_IN = ("opt_in", serializers.OptInDetailSerializer)


class OptInViewSet(ExternalViewSet):
    """Opt-ins."""

    def has_known_reference(self, data: Mapping[str, object]) -> bool:
        return is_submitted(self.organization, data.get("source"), data.get("external_reference"))

    @extend_schema(
        summary="Submit an opt-in",
        parameters=[PREFER],
        request=serializers.OptInInputSerializer,
        responses={
            200: ActionResponse(serializers.SubmittedSerializer, "Opt-in recorded", OPT_IN),
            201: ActionResponse(serializers.SubmittedSerializer, "Lead created via opt-in", OPT_IN),
        },
    )
    def submit(self, request: Request) -> Response:
        """Record a form submission. Returns 201 if it creates a lead, 200 if the lead exists.

        With an `external_reference` the request is safe to repeat: the same reference and source return the stored
        record.
        """
        data = self.validated(serializers.OptInInputSerializer)
        opt_in_id, lead_id, is_new_lead = submit(organization=self.organization, actor=self.actor, **data)
        result = {"opt_in_id": opt_in_id, "lead_id": lead_id, "is_new_lead": is_new_lead}
        message, status = ("Lead created via opt-in", 201) if is_new_lead else ("Opt-in recorded", 200)
        return self.with_representation(action_response(message, result, status=status), *OPT_IN, opt_in_id)

    @extend_schema(
        summary="List opt-ins",
        parameters=list_parameters(OptInFilter),
        responses={200: ListResponse(serializers.OptInItemSerializer, "Opt-ins retrieved")},
    )
    def list(self, request: Request) -> Response:
        """Return one page of the organization's opt-ins, newest first."""
        return self.list_response(serializers.OptInItemSerializer, OptInFilter, message="Opt-ins retrieved")

    @extend_schema(
        summary="Get an opt-in", responses={200: DetailResponse(serializers.OptInDetailSerializer, "Opt-in retrieved")}
    )
    def retrieve(self, request: Request, id: str) -> Response:
        """Return one opt-in with its answers and its traffic source."""
        return self.detail_response(serializers.OptInDetailSerializer, id, message="Opt-in retrieved")


class OptInSyncViewSet(ExternalViewSet):
    """Opt-ins."""

    scope = Scope.SYNC

    @extend_schema(
        summary="Sync an opt-in",
        request=serializers.SyncedOptInInputSerializer,
        responses={
            200: ActionResponse(serializers.SyncedOptInSerializer, "Opt-in synced"),
            201: ActionResponse(serializers.SyncedOptInSerializer, "Opt-in created"),
            404: OpenApiResponse(ERROR, "The reference has a slash."),
        },
    )
    def sync(self, request: Request, source: str, reference: str) -> Response:
        """Record a submission, or replace the answers and traffic of the one with the reference by newer ones.

        Requires the scope `sync`.
        """
        data = self.validated(serializers.SyncedOptInInputSerializer)
        data |= self.validated(serializers.SyncedOptInPathSerializer, {"source": source, "reference": reference})
        opt_in_id, lead_id, is_new, applied = sync_opt_in(organization=self.organization, actor=self.actor, **data)
        result = {"opt_in_id": opt_in_id, "lead_id": lead_id, "applied": applied}
        message, status = ("Opt-in created", 201) if is_new else ("Opt-in synced", 200)
        return action_response(message, result, status=status)
