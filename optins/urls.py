"""URLs of the opt-in endpoints."""

from django.urls import path

from optins.views import OptInSyncViewSet, OptInViewSet

urlpatterns = [
    path("opt-in/submit", OptInViewSet.as_view({"post": "submit"}), name="opt-in-submit"),
    path("external/opt-ins", OptInViewSet.as_view({"get": "list"}), name="opt-ins"),
    path("external/opt-ins/<str:id>", OptInViewSet.as_view({"get": "retrieve"}), name="opt-in"),
    path(
        "external/sync/<str:source>/opt-ins/<str:reference>",
        OptInSyncViewSet.as_view({"put": "sync"}),
        name="opt-in-sync",
    ),
]
