"""URLs of the opt-in endpoints."""

from django.urls import path

from optins.views import OptInViewSet

urlpatterns = [
    path("opt-in/submit", OptInViewSet.as_view({"post": "submit"}), name="opt-in-submit"),
    path("external/opt-ins", OptInViewSet.as_view({"get": "list"}), name="opt-ins"),
    path("external/opt-ins/<str:id>", OptInViewSet.as_view({"get": "retrieve"}), name="opt-in"),
]
