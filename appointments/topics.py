"""Webhook event topics of appointments."""

from appointments.serializers import AppointmentDetailSerializer
from webhooks.topics import Topic

CREATED = Topic("appointment.created", serializer=AppointmentDetailSerializer, summary="An appointment was booked.")
RESCHEDULED = Topic(
    "appointment.rescheduled",
    serializer=AppointmentDetailSerializer,
    summary="An appointment was moved to another time.",
    previous=("schedule_time",),
)
CANCELED = Topic(
    "appointment.canceled",
    serializer=AppointmentDetailSerializer,
    summary="An appointment was canceled.",
    previous=("outcome", "meeting_url"),
)
OUTCOME_CHANGED = Topic(
    "appointment.outcome_changed",
    serializer=AppointmentDetailSerializer,
    summary="An appointment got another outcome than canceled.",
    previous=("outcome", "no_show"),
)
