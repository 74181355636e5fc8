"""The look-ups of the key and the members (docs/interface.md, K12 and M4)."""

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from foundation.api.openapi import DetailResponse, ListResponse, list_parameters
from foundation.api.pagination import MAX_LIMIT
from foundation.api.responses import data_response
from foundation.api.viewsets import ExternalViewSet
from foundation.db.timestamps import isoformat_z
from organizations.events import last_event_id
from organizations.filters import MemberFilter
from organizations.serializers import MemberSerializer, MeSerializer


class MeViewSet(ExternalViewSet):
    """Look-ups."""

    @extend_schema(
        summary="Get organization and key", responses={200: DetailResponse(MeSerializer, "API key retrieved")}
    )
    def retrieve(self, request: Request) -> Response:
        """Return the key of the request, its organization, the limits of requests, and the newest event."""
        organization, key = self.organization, self.auth.key
        data = {
            "organization": {
                "id": organization.pk,
                "name": organization.name,
                "country": organization.default_country,
                "time_zone": organization.time_zone,
                "is_test": organization.is_test,
            },
            "key": {
                "id": key.key_id,
                "name": key.name,
                "scopes": key.scopes,
                "expires_at": key.expires_at and isoformat_z(key.expires_at),
            },
            "limits": {
                "requests_per_minute": self.auth.requests_per_minute,
                "body_bytes": settings.BODY_LIMIT,
                "page_limit": MAX_LIMIT,
            },
            "last_event_id": last_event_id(organization),
            "version": settings.VERSION,
        }
        return data_response("API key retrieved", data)


class MemberViewSet(ExternalViewSet):
    """Look-ups."""

    @extend_schema(
        summary="List members",
        parameters=list_parameters(MemberFilter),
        responses={200: ListResponse(MemberSerializer, "Members retrieved")},
    )
    def list(self, request: Request) -> Response:
        """Return one page of the organization's members, also former ones, ordered by name."""
        return self.list_response(MemberSerializer, MemberFilter, message="Members retrieved")
