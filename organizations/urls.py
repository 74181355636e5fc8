"""URLs of the look-ups of the key and the members."""

from django.urls import path

from organizations.views import MemberViewSet, MeViewSet

urlpatterns = [
    path("external/me", MeViewSet.as_view({"get": "retrieve"}), name="me"),
    path("external/members", MemberViewSet.as_view({"get": "list"}), name="members"),
]
