"""URL of the events list."""

from django.urls import path

from webhooks.views import EventViewSet

urlpatterns = [path("external/events", EventViewSet.as_view({"get": "list"}), name="events")]
