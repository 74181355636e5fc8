"""The endpoints of API keys, and the topics that they can have (docs/interface.md, W30 to W39)."""

from typing import Any

import orjson
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from foundation.api.exceptions import ResourceNotFound, ValidationFailed
from foundation.api.openapi import (
    ERROR,
    ActionResponse,
    DetailResponse,
    ListResponse,
    UpdateResponse,
    list_parameters,
    query_parameter,
)
from foundation.api.pagination import parse_integer, read_parameters
from foundation.api.responses import action_response, data_response
from foundation.api.viewsets import ExternalViewSet
from foundation.db.timestamps import isoformat_z
from organizations.models import Scope
from webhooks.feed import list_samples
from webhooks.filters import DeliveryFilter, EndpointFilter
from webhooks.key_endpoints import (
    delete_endpoint,
    endpoints_of,
    find_endpoint,
    patch_endpoint,
    replay_delivery,
    replay_period,
    rotate_endpoint_secret,
    send_endpoint_test,
    subscribe,
)
from webhooks.models import Delivery
from webhooks.serializers import (
    CreatedEndpointSerializer,
    DeliverySerializer,
    EndpointInputSerializer,
    EndpointSerializer,
    EndpointUpdateInputSerializer,
    EventSerializer,
    ReplayedSerializer,
    ReplayInputSerializer,
    RotatedSecretSerializer,
    SentTestSerializer,
    TopicSerializer,
)
from webhooks.topics import topics

DISABLED = {409: OpenApiResponse(ERROR, "The endpoint is disabled.")}
DEFAULT_SAMPLES, MAX_SAMPLES = 3, 10
TOPIC = OpenApiParameter("topic", OpenApiTypes.STR, OpenApiParameter.PATH, description="The name of the topic.")
SAMPLES = {"type": "integer", "minimum": 1, "maximum": MAX_SAMPLES, "default": DEFAULT_SAMPLES}


class SamplesResponse(ListResponse):
    suffix = "SamplesResponse"


class EndpointViewSet(ExternalViewSet):
    """Webhook endpoints."""

    scope = Scope.WEBHOOKS

    @extend_schema(
        summary="List webhook endpoints",
        parameters=list_parameters(EndpointFilter),
        responses={200: ListResponse(EndpointSerializer, "Webhook endpoints retrieved")},
    )
    def list(self, request: Request) -> Response:
        """Return one page of the endpoints that this key made, newest first."""
        rows, message = endpoints_of(self.auth.key), "Webhook endpoints retrieved"
        return self.list_response(EndpointSerializer, EndpointFilter, message=message, rows=rows)

    @extend_schema(
        summary="Create a webhook endpoint",
        request=EndpointInputSerializer,
        responses={
            200: UpdateResponse(EndpointSerializer, "Webhook endpoint already exists"),
            201: ActionResponse(CreatedEndpointSerializer, "Webhook endpoint created"),
            409: OpenApiResponse(ERROR, "The organization has as many endpoints made by API keys as it may have."),
        },
    )
    def create(self, request: Request) -> Response:
        """Subscribe a URL to topics. Returns 201 with the signing secret, which is shown only once.

        If this key has an endpoint with the same URL and topics, returns 200 with that one, without its secret.
        """
        values = {"topics": [], "description": "", "metadata": {}} | self.validated(EndpointInputSerializer)
        id, secret = subscribe(key=self.auth.key, **values)
        data = EndpointSerializer.get_text(self.organization, id)
        if secret is None:
            return action_response("Webhook endpoint already exists", orjson.Fragment(data or ""))
        return action_response("Webhook endpoint created", orjson.loads(data or "") | {"secret": secret}, status=201)

    @extend_schema(
        summary="Get a webhook endpoint",
        responses={200: DetailResponse(EndpointSerializer, "Webhook endpoint retrieved")},
    )
    def retrieve(self, request: Request, id: str) -> Response:
        """Return one endpoint that this key made."""
        find_endpoint(self.auth.key, self.parse_id(id))
        return self.detail_response(EndpointSerializer, id, message="Webhook endpoint retrieved")

    @extend_schema(
        summary="Update a webhook endpoint",
        request=EndpointUpdateInputSerializer,
        responses={
            200: UpdateResponse(EndpointSerializer, "Webhook endpoint updated"),
            409: OpenApiResponse(ERROR, "Staff have disabled the endpoint."),
        },
    )
    def update(self, request: Request, id: str) -> Response:
        """Change URL, topics, description or metadata, or disable or enable the endpoint."""
        changes = self.validated(EndpointUpdateInputSerializer)
        patch_endpoint(key=self.auth.key, id=self.parse_id(id), changes=changes)
        return action_response("Webhook endpoint updated", EndpointSerializer.get(self.organization, self.parse_id(id)))

    @extend_schema(
        summary="Delete a webhook endpoint", responses={204: OpenApiResponse(description="Webhook endpoint deleted")}
    )
    def destroy(self, request: Request, id: str) -> Response:
        """Unsubscribe: nothing more is sent to the endpoint, not even pending deliveries."""
        delete_endpoint(key=self.auth.key, id=self.parse_id(id))
        return Response(status=204)

    @extend_schema(
        summary="Rotate the secret of a webhook endpoint",
        request=None,
        responses={200: ActionResponse(RotatedSecretSerializer, "Signing secret rotated")},
    )
    def rotate_secret(self, request: Request, id: str) -> Response:
        """Replace the signing secret. For 24 hours the one before it signs, too; a second rotation ends that."""
        endpoint = rotate_endpoint_secret(key=self.auth.key, id=self.parse_id(id))
        until: Any = endpoint.previous_secret_until
        data = {"secret": endpoint.secret, "previous_secret_until": isoformat_z(until)}
        return action_response("Signing secret rotated", data)

    @extend_schema(
        summary="Test a webhook endpoint",
        request=None,
        responses={200: ActionResponse(SentTestSerializer, "Test event sent"), **DISABLED},
    )
    def test(self, request: Request, id: str) -> Response:
        """Send a webhook.test event to this endpoint alone, whatever topics it has."""
        event = send_endpoint_test(key=self.auth.key, id=self.parse_id(id))
        return action_response("Test event sent", {"event_id": event.pk})

    @extend_schema(
        summary="List deliveries of a webhook endpoint",
        parameters=list_parameters(DeliveryFilter),
        responses={200: ListResponse(DeliverySerializer, "Deliveries retrieved")},
    )
    def deliveries(self, request: Request, id: str) -> Response:
        """Return one page of the endpoint's deliveries, newest first."""
        endpoint = find_endpoint(self.auth.key, self.parse_id(id))
        rows = Delivery.objects.of(self.organization).filter(endpoint=endpoint)
        return self.list_response(DeliverySerializer, DeliveryFilter, message="Deliveries retrieved", rows=rows)

    @extend_schema(
        summary="Replay deliveries of a webhook endpoint",
        request=ReplayInputSerializer,
        responses={200: ActionResponse(ReplayedSerializer, "Replay started"), **DISABLED},
    )
    def replay(self, request: Request, id: str) -> Response:
        """Send one delivery again, or everything that the endpoint missed since a time, with the same webhook-id."""
        values = self.validated(ReplayInputSerializer)
        service = replay_delivery if "delivery_id" in values else replay_period
        count = service(key=self.auth.key, id=self.parse_id(id), **values)
        return action_response("Replay started", {"count": count})


class TopicViewSet(ExternalViewSet):
    """Webhook endpoints."""

    scope = Scope.WEBHOOKS

    @extend_schema(
        summary="List webhook topics", responses={200: ListResponse(TopicSerializer, "Webhook topics retrieved", {})}
    )
    def list(self, request: Request) -> Response:
        """Return all topics, in alphabetical order."""
        data = [{"name": topic.name, "description": topic.summary} for topic in topics().values()]
        return data_response("Webhook topics retrieved", data)

    @extend_schema(
        summary="List samples of a webhook topic",
        parameters=[TOPIC, query_parameter("limit", SAMPLES, "The maximum number of samples.")],
        responses={
            200: SamplesResponse(EventSerializer, "Samples retrieved", {}),
            404: OpenApiResponse(ERROR, "There is no such topic."),
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
