"""URL of the statuses list."""

from django.urls import path

from statuses.views import StatusViewSet

urlpatterns = [path("external/statuses", StatusViewSet.as_view({"get": "list"}), name="statuses")]
