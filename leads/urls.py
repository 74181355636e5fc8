"""URLs of the lead endpoints, and of the look-ups of sources and custom fields."""

from django.urls import path

from leads.views import CustomFieldViewSet, LeadViewSet, SourceViewSet
from organizations.models import Scope

LEAD = "external/leads/<str:id>"
view = LeadViewSet.as_view

urlpatterns = [
    path("external/leads", view({"get": "list", "post": "create"}), name="leads"),
    path("external/leads/import", view({"post": "create_many"}), name="lead-import"),
    path(LEAD, view({"get": "retrieve", "patch": "update"}), name="lead"),
    path(f"{LEAD}/status", view({"patch": "update_status"}), name="lead-status"),
    path(f"{LEAD}/erase", view({"post": "erase"}, scope=Scope.ERASE), name="lead-erase"),
    path(f"{LEAD}/status-changes", view({"get": "list_status_changes"}), name="lead-status-changes"),
    path(f"{LEAD}/notes", view({"get": "list_notes", "post": "create_note"}), name="lead-notes"),
    path(f"{LEAD}/notes/<str:note_id>", view({"patch": "update_note", "delete": "delete_note"}), name="lead-note"),
    path("external/sources", SourceViewSet.as_view({"get": "list"}), name="sources"),
    path("external/custom-fields", CustomFieldViewSet.as_view({"get": "list"}), name="custom-fields"),
]
