"""URLs of the appointment endpoints, and of the look-up of event types."""

from django.urls import path

from appointments.reset_views import ResetViewSet
from appointments.sync_views import SyncViewSet
from appointments.views import AppointmentViewSet, EventTypeViewSet

urlpatterns = [
    path("external/appointments", AppointmentViewSet.as_view({"get": "list", "post": "create"}), name="appointments"),
    path(
        "external/appointments/reschedule",
        AppointmentViewSet.as_view({"post": "reschedule"}),
        name="appointment-reschedule",
    ),
    path(
        "external/appointments/import", AppointmentViewSet.as_view({"post": "create_many"}), name="appointment-import"
    ),
    path("external/appointments/cancel", AppointmentViewSet.as_view({"post": "cancel"}), name="appointment-cancel"),
    path(
        "external/appointments/<str:id>",
        AppointmentViewSet.as_view({"get": "retrieve", "patch": "update"}),
        name="appointment",
    ),
    path(
        "external/appointments/<str:id>/outcome-changes",
        AppointmentViewSet.as_view({"get": "list_outcome_changes"}),
        name="appointment-outcome-changes",
    ),
    path(
        "external/appointments/<str:id>/notes",
        AppointmentViewSet.as_view({"get": "list_notes", "post": "create_note"}),
        name="appointment-notes",
    ),
    path(
        "external/appointments/<str:id>/notes/<str:note_id>",
        AppointmentViewSet.as_view({"patch": "update_note", "delete": "delete_note"}),
        name="appointment-note",
    ),
    path(
        "external/call-analyses/<str:call_analysis_call_id>",
        AppointmentViewSet.as_view({"put": "update_analysis"}),
        name="call-analysis",
    ),
    path(
        "external/sync/<str:source>/appointments/<str:external_reference>",
        SyncViewSet.as_view({"put": "sync"}),
        name="appointment-sync",
    ),
    path("external/test/reset", ResetViewSet.as_view({"post": "create"}), name="test-reset"),
    path("external/event-types", EventTypeViewSet.as_view({"get": "list"}), name="event-types"),
]
