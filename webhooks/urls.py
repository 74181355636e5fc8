"""URLs of the events list, and of endpoints and topics."""

from django.urls import path

from webhooks.endpoint_views import EndpointViewSet, TopicViewSet
from webhooks.views import EventViewSet

LIST, DETAIL = "external/webhook-endpoints", "external/webhook-endpoints/<str:id>"
SAMPLES = "external/webhook-topics/<str:topic>/samples"
view = EndpointViewSet.as_view

urlpatterns = [
    path("external/events", EventViewSet.as_view({"get": "list"}), name="events"),
    path(LIST, view({"get": "list", "post": "create"}), name="webhook-endpoints"),
    path(DETAIL, view({"get": "retrieve", "patch": "update", "delete": "destroy"}), name="webhook-endpoint"),
    path(f"{DETAIL}/rotate-secret", view({"post": "rotate_secret"}), name="webhook-endpoint-secret"),
    path(f"{DETAIL}/test", view({"post": "test"}), name="webhook-endpoint-test"),
    path(f"{DETAIL}/deliveries", view({"get": "deliveries"}), name="webhook-endpoint-deliveries"),
    path(f"{DETAIL}/replay", view({"post": "replay"}), name="webhook-endpoint-replay"),
    path("external/webhook-topics", TopicViewSet.as_view({"get": "list"}), name="webhook-topics"),
    path(SAMPLES, TopicViewSet.as_view({"get": "samples"}), name="webhook-topic-samples"),
]
