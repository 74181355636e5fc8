"""URLs of the events list, and of endpoints and topics."""

from django.urls import path

from webhooks.endpoint_views import EndpointViewSet, TopicViewSet
from webhooks.views import EventViewSet

ENDPOINT = "external/webhook-endpoints/<str:id>"

urlpatterns = [
    path("external/events", EventViewSet.as_view({"get": "list"}), name="events"),
    path(
        "external/webhook-endpoints",
        EndpointViewSet.as_view({"get": "list", "post": "create"}),
        name="webhook-endpoints",
    ),
    path(
        ENDPOINT,
        EndpointViewSet.as_view({"get": "retrieve", "patch": "update", "delete": "destroy"}),
        name="webhook-endpoint",
    ),
    path(
        f"{ENDPOINT}/rotate-secret", EndpointViewSet.as_view({"post": "rotate_secret"}), name="webhook-endpoint-secret"
    ),
    path(f"{ENDPOINT}/test", EndpointViewSet.as_view({"post": "test"}), name="webhook-endpoint-test"),
    path(f"{ENDPOINT}/deliveries", EndpointViewSet.as_view({"get": "deliveries"}), name="webhook-endpoint-deliveries"),
    path(f"{ENDPOINT}/replay", EndpointViewSet.as_view({"post": "replay"}), name="webhook-endpoint-replay"),
    path("external/webhook-topics", TopicViewSet.as_view({"get": "list"}), name="webhook-topics"),
    path(
        "external/webhook-topics/<str:topic>/samples",
        TopicViewSet.as_view({"get": "samples"}),
        name="webhook-topic-samples",
    ),
]
