"""URLs of the appointment endpoints."""

from django.urls import path

from appointments.views import AppointmentViewSet

urlpatterns = [
    path("external/appointments", AppointmentViewSet.as_view({"get": "list", "post": "create"}), name="appointments"),
    path("external/appointments/cancel", AppointmentViewSet.as_view({"post": "cancel"}), name="appointment-cancel"),
    path("external/appointments/<str:id>", AppointmentViewSet.as_view({"get": "retrieve"}), name="appointment"),
]
