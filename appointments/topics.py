"""Webhook event topics of appointments."""

from functools import partial

from appointments import serializers
from webhooks.topics import Topic

appointment_topic = partial(Topic, serializer=serializers.AppointmentDetailSerializer, has_attribution=True)

CREATED = appointment_topic("appointment.created", summary="An appointment was booked.")
RESCHEDULED = appointment_topic(
    "appointment.rescheduled",
    summary="An appointment was moved to another time or reference, and maybe other fields changed with it.",
    is_change=True,
    details=serializers.ReschedulingDetailsSerializer,
)
CANCELED = appointment_topic(
    "appointment.canceled",
    summary="An appointment was canceled.",
    is_change=True,
    details=serializers.CancellationDetailsSerializer,
)
OUTCOME_CHANGED = appointment_topic(
    "appointment.outcome_changed",
    summary="An appointment got another outcome than canceled, and maybe other fields changed with it.",
    is_change=True,
)
UPDATED = appointment_topic(
    "appointment.updated",
    summary="Other fields of an appointment changed: members, URLs, event type, category, custom values or analysis.",
    is_change=True,
    also_previous=("lead",),  # which a merge of two leads, or its undoing, changes
)
DELETED = Topic(
    "appointment.deleted",
    serializers.DeletedAppointmentSerializer,
    "An import that had added the appointment was undone. "
    "Earlier events about it and its notes now have this type and content.",
)
NOTE_CREATED = Topic(
    "note.created",
    serializers.NoteDetailSerializer,
    "A note was added to an appointment, by staff, through the API, by a booking or by a cancellation.",
)
NOTE_UPDATED = Topic(
    "note.updated",
    serializers.NoteDetailSerializer,
    "Text or mentions of an appointment's note were changed, by staff or by the API key that wrote it.",
    is_change=True,
)
NOTE_DELETED = Topic(
    "note.deleted",
    serializers.NoteDetailSerializer,
    "An appointment's note was deleted, by staff or by the API key that wrote it. `data` is as it was.",
)
EVENT_TYPE_UPDATED = Topic(
    "event_type.updated",
    serializers.EventTypeDetailSerializer,
    "An event type was renamed or changed. Appointments show its present name, provider and owner.",
    is_change=True,
)
