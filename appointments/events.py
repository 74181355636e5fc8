"""What happens to appointments."""

from appointments.shapes import AppointmentDetail
from webhooks.catalogue import EventType

CREATED = EventType("appointment.created", shape=AppointmentDetail, summary="A call was booked.")
RESCHEDULED = EventType("appointment.rescheduled", shape=AppointmentDetail, summary="A call moved to another time; previous has the old one.")
CANCELED = EventType("appointment.canceled", shape=AppointmentDetail, summary="A call was canceled; previous has the old outcome and meeting URL.")
OUTCOME_CHANGED = EventType(
    "appointment.outcome_changed", shape=AppointmentDetail, summary="A call has another outcome than canceled; previous has the old one."
)
