"""What happens to appointments."""

from appointments.serializers import AppointmentDetailSerializer
from webhooks.topics import Topic

CREATED = Topic("appointment.created", serializer=AppointmentDetailSerializer, summary="A call was booked.")
RESCHEDULED = Topic(
    "appointment.rescheduled",
    serializer=AppointmentDetailSerializer,
    summary="A call moved to another time; previous has the old one.",
)
CANCELED = Topic(
    "appointment.canceled",
    serializer=AppointmentDetailSerializer,
    summary="A call was canceled; previous has the old outcome and meeting URL.",
)
OUTCOME_CHANGED = Topic(
    "appointment.outcome_changed",
    serializer=AppointmentDetailSerializer,
    summary="A call has another outcome than canceled; previous has the old one.",
)
