"""The endpoints of API keys, and the topics that they can have (docs/interface.md, W30 to W39)."""

from typing import Any

import orjson
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from foundation.api import openapi
from foundation.api.exceptions import ResourceNotFound, ValidationFailed
from foundation.api.pagination import parse_integer, read_parameters
from foundation.api.responses import action_response, data_response
from foundation.api.viewsets import ExternalViewSet
from foundation.db.timestamps import isoformat_z
from organizations.models import Scope
from webhooks import key_endpoints, serializers
from webhooks.feed import list_samples
from webhooks.filters import DeliveryFilter, EndpointFilter
from webhooks.models import Delivery
from webhooks.topics import topics

DISABLED = {409: OpenApiResponse(openapi.ERROR, "The endpoint is disabled.")}
DEFAULT_SAMPLES, MAX_SAMPLES = 3, 10
TOPIC = OpenApiParameter("topic", OpenApiTypes.STR, OpenApiParameter.PATH, description="The name of the topic.")
SAMPLES = {"type": "integer", "minimum": 1, "maximum": MAX_SAMPLES, "default": DEFAULT_SAMPLES}


class SamplesResponse(openapi.ListResponse):
    suffix = "SamplesResponse"


class EndpointViewSet(ExternalViewSet):
    """Webhook endpoints."""

    scope = Scope.WEBHOOKS

    @extend_schema(
        summary="List webhook endpoints",
        parameters=openapi.list_parameters(EndpointFilter),
        responses={200: openapi.ListResponse(serializers.WebhookEndpointSerializer, "Webhook endpoints retrieved")},
    )
    def list(self, request: Request) -> Response:
        """Return one page of the endpoints that this key made, newest first."""
        rows, message = key_endpoints.endpoints_of(self.auth.key), "Webhook endpoints retrieved"
        return self.list_response(serializers.WebhookEndpointSerializer, EndpointFilter, message=message, rows=rows)

    @extend_schema(
        summary="Create a webhook endpoint",
        request=serializers.EndpointInputSerializer,
        responses={
            200: openapi.UpdateResponse(serializers.WebhookEndpointSerializer, "Webhook endpoint already exists"),
            201: openapi.ActionResponse(serializers.CreatedWebhookEndpointSerializer, "Webhook endpoint created"),
            409: OpenApiResponse(
                openapi.ERROR, "The organization has as many endpoints made by API keys as it may have."
            ),
        },
    )
    def create(self, request: Request) -> Response:
        """Subscribe a URL to topics. Returns 201 with the signing secret, which is shown only once.

        If this key has an endpoint with the same URL and topics, returns 200 with that one, without its secret.
        """
        values = {"topics": [], "description": "", "metadata": {}} | self.validated(serializers.EndpointInputSerializer)
        id, secret = key_endpoints.subscribe(key=self.auth.key, **values)
        data = serializers.WebhookEndpointSerializer.get_text(self.organization, id)
        if secret is None:
            return action_response("Webhook endpoint already exists", orjson.Fragment(data or ""))
        return action_response("Webhook endpoint created", orjson.loads(data or "") | {"secret": secret}, status=201)

    @extend_schema(
        summary="Get a webhook endpoint",
        responses={200: openapi.DetailResponse(serializers.WebhookEndpointSerializer, "Webhook endpoint retrieved")},
    )
    def retrieve(self, request: Request, id: str) -> Response:
        """Return one endpoint that this key made."""
        key_endpoints.find_endpoint(self.auth.key, self.parse_id(id))
        return self.detail_response(serializers.WebhookEndpointSerializer, id, message="Webhook endpoint retrieved")

    @extend_schema(
        summary="Update a webhook endpoint",
        request=serializers.EndpointUpdateInputSerializer,
        responses={
            200: openapi.UpdateResponse(serializers.WebhookEndpointSerializer, "Webhook endpoint updated"),
            409: OpenApiResponse(openapi.ERROR, "Staff have disabled the endpoint."),
        },
    )
    def update(self, request: Request, id: str) -> Response:
        """Change URL, topics, description or metadata, or disable or enable the endpoint."""
        changes = self.validated(serializers.EndpointUpdateInputSerializer)
        key_endpoints.patch_endpoint(key=self.auth.key, id=self.parse_id(id), changes=changes)
        return action_response(
            "Webhook endpoint updated", serializers.WebhookEndpointSerializer.get(self.organization, self.parse_id(id))
        )

    @extend_schema(
        summary="Delete a webhook endpoint", responses={204: OpenApiResponse(description="Webhook endpoint deleted")}
    )
    def destroy(self, request: Request, id: str) -> Response:
        """Unsubscribe: nothing more is sent to the endpoint, not even pending deliveries."""
        key_endpoints.delete_endpoint(key=self.auth.key, id=self.parse_id(id))
        return Response(status=204)

    @extend_schema(
        summary="Rotate the secret of a webhook endpoint",
        request=None,
        responses={200: openapi.ActionResponse(serializers.RotatedSecretSerializer, "Signing secret rotated")},
    )
    def rotate_secret(self, request: Request, id: str) -> Response:
        """Replace the signing secret. For 24 hours the one before it signs, too; a second rotation ends that."""
        endpoint = key_endpoints.rotate_endpoint_secret(key=self.auth.key, id=self.parse_id(id))
        until: Any = endpoint.previous_secret_until
        data = {"secret": endpoint.secret, "previous_secret_until": isoformat_z(until)}
        return action_response("Signing secret rotated", data)

    @extend_schema(
        summary="Test a webhook endpoint",
        request=None,
        responses={200: openapi.ActionResponse(serializers.SentTestSerializer, "Test event sent"), **DISABLED},
    )
    def test(self, request: Request, id: str) -> Response:
        """Send a webhook.test event to this endpoint alone, whatever topics it has."""
        event = key_endpoints.send_endpoint_test(key=self.auth.key, id=self.parse_id(id))
        return action_response("Test event sent", {"event_id": event.pk})

    @extend_schema(
        summary="List deliveries of a webhook endpoint",
        parameters=openapi.list_parameters(DeliveryFilter),
        responses={200: openapi.ListResponse(serializers.WebhookDeliverySerializer, "Deliveries retrieved")},
    )
    def deliveries(self, request: Request, id: str) -> Response:
        """Return one page of the endpoint's deliveries, newest first."""
        endpoint = key_endpoints.find_endpoint(self.auth.key, self.parse_id(id))
        rows = Delivery.objects.of(self.organization).filter(endpoint=endpoint)
        return self.list_response(
            serializers.WebhookDeliverySerializer, DeliveryFilter, message="Deliveries retrieved", rows=rows
        )

    @extend_schema(
        summary="Replay deliveries of a webhook endpoint",
        request=serializers.ReplayInputSerializer,
        responses={200: openapi.ActionResponse(serializers.ReplayedSerializer, "Replay started"), **DISABLED},
    )
    def replay(self, request: Request, id: str) -> Response:
        """Send one delivery again, or everything that the endpoint missed since a time, with the same webhook-id."""
        values = self.validated(serializers.ReplayInputSerializer)
        service = key_endpoints.replay_delivery if "delivery_id" in values else key_endpoints.replay_period
        return action_response("Replay started", {"count": service(key=self.auth.key, id=self.parse_id(id), **values)})


class TopicViewSet(ExternalViewSet):
    """Webhook endpoints."""

    scope = Scope.WEBHOOKS

    @extend_schema(
        summary="List webhook topics",
        responses={200: openapi.ListResponse(serializers.WebhookTopicSerializer, "Webhook topics retrieved", {})},
    )
    def list(self, request: Request) -> Response:
        """Return all topics, in alphabetical order."""
        data = [{"name": topic.name, "description": topic.summary} for topic in topics().values()]
        return data_response("Webhook topics retrieved", data)

    @extend_schema(
        summary="List samples of a webhook topic",
        parameters=[TOPIC, openapi.query_parameter("limit", SAMPLES, "The maximum number of samples.")],
        responses={
            200: SamplesResponse(serializers.EventSerializer, "Samples retrieved", {}),
            404: OpenApiResponse(openapi.ERROR, "There is no such topic."),
        },
    )
    def samples(self, request: Request, topic: str) -> Response:
        """Return bodies exactly as they are delivered, newest first; without an event the documented example."""
        if topic not in topics():
            raise ResourceNotFound
        params, unknown = read_parameters(request.query_params, {"limit": False})
        limit, errors = parse_integer(params, "limit", default=DEFAULT_SAMPLES, max_value=MAX_SAMPLES)
        if errors := errors | unknown:
            raise ValidationFailed(errors)
        samples = list_samples(organization=self.organization, topic=topic, limit=limit)
        return data_response("Samples retrieved", samples)
