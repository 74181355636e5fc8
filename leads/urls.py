"""URLs of the lead endpoints."""

from django.urls import path

from leads.views import LeadViewSet

urlpatterns = [
    path("external/leads", LeadViewSet.as_view({"get": "list"}), name="leads"),
    path("external/leads/<str:id>", LeadViewSet.as_view({"get": "retrieve"}), name="lead"),
    path("external/leads/<str:id>/status", LeadViewSet.as_view({"patch": "update_status"}), name="lead-status"),
]
