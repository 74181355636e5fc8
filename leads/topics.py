"""Webhook event topics of leads."""

from leads.serializers import CustomFieldSerializer, ErasedLeadSerializer, LeadNoteSerializer, LeadSerializer
from statuses.serializers import StatusEventSerializer
from webhooks.topics import Topic

CREATED = Topic(
    "lead.created", serializer=LeadSerializer, summary="A lead was created by a booking, by an opt-in or by staff."
)
STATUS_CHANGED = Topic(
    "lead.status_changed",
    serializer=LeadSerializer,
    summary="A lead's status changed, and maybe other fields with it.",
    is_change=True,
)
UPDATED = Topic(
    "lead.updated",
    serializer=LeadSerializer,
    summary="Other fields of a lead changed, by a booking, an opt-in or staff, with an appointment, or as time passed.",
    is_change=True,
)
ERASED = Topic(
    "lead.erased",
    serializer=ErasedLeadSerializer,
    summary="All personal data of a lead was erased; erase your copies. Earlier events about it have become this, too.",
)
MERGED = Topic(
    "lead.merged",
    serializer=LeadSerializer,
    summary="Another lead was merged into this one, and is gone. Its id is the last of `previous_ids`.",
    is_change=True,
)
NOTE_CREATED = Topic(
    "lead.note_created",
    serializer=LeadNoteSerializer,
    summary="A note was added to a lead by staff. Notes of appointments are note.created.",
)
CUSTOM_FIELD_CREATED = Topic(
    "custom_field.created",
    serializer=CustomFieldSerializer,
    summary="A custom field was defined. All leads, or all appointments, show it from now on.",
)
CUSTOM_FIELD_UPDATED = Topic(
    "custom_field.updated",
    serializer=CustomFieldSerializer,
    summary="The definition of a custom field changed. Leads or appointments show it as it is now.",
    is_change=True,
)
CUSTOM_FIELD_DELETED = Topic(
    "custom_field.deleted",
    serializer=CustomFieldSerializer,
    summary="A custom field was deleted. Leads or appointments no longer show it.",
)
# Here, because `statuses` and `webhooks` don't know each other.
STATUS_CREATED = Topic("status.created", serializer=StatusEventSerializer, summary="A status was added.")
STATUS_UPDATED = Topic(
    "status.updated",
    serializer=StatusEventSerializer,
    summary="A status was renamed or changed. Leads and appointments show it as it is now.",
    is_change=True,
)
STATUS_DELETED = Topic(
    "status.deleted", serializer=StatusEventSerializer, summary="A status that nothing used was deleted."
)
