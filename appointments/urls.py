"""URLs of appointments with their notes, call analyses and sync, of event types, and of the reset for tests."""

from django.urls import path

from appointments.reset_views import ResetViewSet
from appointments.sync_views import SyncViewSet
from appointments.views import AppointmentViewSet, EventTypeViewSet

LIST, DETAIL = "external/appointments", "external/appointments/<str:id>"
SYNC = "external/sync/<str:source>/appointments/<str:external_reference>"
view = AppointmentViewSet.as_view

urlpatterns = [
    path(LIST, view({"get": "list", "post": "create"}), name="appointments"),
    path(f"{LIST}/reschedule", view({"post": "reschedule"}), name="appointment-reschedule"),
    path(f"{LIST}/import", view({"post": "create_many"}), name="appointment-import"),
    path(f"{LIST}/cancel", view({"post": "cancel"}), name="appointment-cancel"),
    path(DETAIL, view({"get": "retrieve", "patch": "update"}), name="appointment"),
    path(f"{DETAIL}/outcome-changes", view({"get": "list_outcome_changes"}), name="appointment-outcome-changes"),
    path(f"{DETAIL}/notes", view({"get": "list_notes", "post": "create_note"}), name="appointment-notes"),
    path(
        f"{DETAIL}/notes/<str:note_id>",
        view({"patch": "update_note", "delete": "delete_note"}),
        name="appointment-note",
    ),
    path("external/call-analyses/<str:call_analysis_call_id>", view({"put": "update_analysis"}), name="call-analysis"),
    path(SYNC, SyncViewSet.as_view({"put": "sync"}), name="appointment-sync"),
    path("external/test/reset", ResetViewSet.as_view({"post": "create"}), name="test-reset"),
    path("external/event-types", EventTypeViewSet.as_view({"get": "list"}), name="event-types"),
]
