"""Webhook event topics of appointments."""

from appointments.serializers import AppointmentDetailSerializer, EventTypeDetailSerializer, NoteEventSerializer
from webhooks.topics import Topic

CREATED = Topic(
    "appointment.created",
    serializer=AppointmentDetailSerializer,
    summary="An appointment was booked.",
    has_attribution=True,
)
RESCHEDULED = Topic(
    "appointment.rescheduled",
    serializer=AppointmentDetailSerializer,
    summary="An appointment was moved to another time, and maybe other fields changed with it.",
    is_change=True,
    has_attribution=True,
)
CANCELED = Topic(
    "appointment.canceled",
    serializer=AppointmentDetailSerializer,
    summary="An appointment was canceled.",
    is_change=True,
    has_attribution=True,
)
OUTCOME_CHANGED = Topic(
    "appointment.outcome_changed",
    serializer=AppointmentDetailSerializer,
    summary="An appointment got another outcome than canceled, and maybe other fields changed with it.",
    is_change=True,
    has_attribution=True,
)
UPDATED = Topic(
    "appointment.updated",
    serializer=AppointmentDetailSerializer,
    summary="Other fields of an appointment changed: members, URLs, event type, category, custom values or analysis.",
    is_change=True,
    has_attribution=True,
    also_previous=("lead",),  # which two leads that are merged, or separated again, change
)
NOTE_CREATED = Topic(
    "note.created",
    serializer=NoteEventSerializer,
    summary="A note was added to an appointment, by staff, by a booking or by a cancellation.",
)
EVENT_TYPE_UPDATED = Topic(
    "event_type.updated",
    serializer=EventTypeDetailSerializer,
    summary="An event type was renamed or changed. Appointments show its present name, provider and owner.",
    is_change=True,
)
