"""URLs of the lead endpoints, and of the look-ups of sources and custom fields."""

from django.urls import path

from leads.views import CustomFieldViewSet, LeadViewSet, SourceViewSet
from organizations.models import Scope

urlpatterns = [
    path("external/leads", LeadViewSet.as_view({"get": "list", "post": "create"}), name="leads"),
    path("external/leads/import", LeadViewSet.as_view({"post": "create_many"}), name="lead-import"),
    path("external/leads/<str:id>", LeadViewSet.as_view({"get": "retrieve", "patch": "update"}), name="lead"),
    path("external/leads/<str:id>/status", LeadViewSet.as_view({"patch": "update_status"}), name="lead-status"),
    path("external/leads/<str:id>/erase", LeadViewSet.as_view({"post": "erase"}, scope=Scope.ERASE), name="lead-erase"),
    path(
        "external/leads/<str:id>/status-changes",
        LeadViewSet.as_view({"get": "list_status_changes"}),
        name="lead-status-changes",
    ),
    path(
        "external/leads/<str:id>/notes",
        LeadViewSet.as_view({"get": "list_notes", "post": "create_note"}),
        name="lead-notes",
    ),
    path(
        "external/leads/<str:id>/notes/<str:note_id>",
        LeadViewSet.as_view({"patch": "update_note", "delete": "delete_note"}),
        name="lead-note",
    ),
    path("external/sources", SourceViewSet.as_view({"get": "list"}), name="sources"),
    path("external/custom-fields", CustomFieldViewSet.as_view({"get": "list"}), name="custom-fields"),
]
