"""Webhook event topics of leads."""

from leads import serializers
from statuses.serializers import StatusDetailSerializer
from webhooks.topics import Topic

CREATED = Topic(
    "lead.created",
    serializers.LeadDetailSerializer,
    "A lead was created by a booking, by an opt-in, through the API or by staff.",
)
STATUS_CHANGED = Topic(
    "lead.status_changed",
    serializers.LeadDetailSerializer,
    "A lead's status changed, and maybe other fields with it.",
    is_change=True,
)
UPDATED = Topic(
    "lead.updated",
    serializers.LeadDetailSerializer,
    "Other fields of a lead changed, by a booking, an opt-in or staff, with an appointment, or as time passed.",
    is_change=True,
)
ERASED = Topic(
    "lead.erased",
    serializers.ErasedLeadSerializer,
    "All personal data of a lead was erased; erase your copies. "
    "Earlier events about it now have this type and content.",
)
DELETED = Topic(
    "lead.deleted",
    serializers.DeletedLeadSerializer,
    "An import that had added the lead was undone. Earlier events about the lead now have this type and content.",
)
MERGED = Topic(
    "lead.merged",
    serializers.LeadDetailSerializer,
    "Another lead was merged into this one, and is gone. Its id is the last of `previous_ids`.",
    is_change=True,
)
NOTE_CREATED = Topic(
    "lead.note_created",
    serializers.LeadNoteDetailSerializer,
    "A note was added to a lead, by staff or through the API. Notes of appointments are note.created.",
)
NOTE_UPDATED = Topic(
    "lead.note_updated",
    serializers.LeadNoteDetailSerializer,
    "The text of a lead's note was changed, by staff or by the API key that wrote it.",
    is_change=True,
)
NOTE_DELETED = Topic(
    "lead.note_deleted",
    serializers.LeadNoteDetailSerializer,
    "A lead's note was deleted, by staff or by the API key that wrote it. `data` is as it was.",
)
CUSTOM_FIELD_CREATED = Topic(
    "custom_field.created",
    serializers.CustomFieldDetailSerializer,
    "A custom field was defined. All leads, or all appointments, show it from now on.",
)
CUSTOM_FIELD_UPDATED = Topic(
    "custom_field.updated",
    serializers.CustomFieldDetailSerializer,
    "The definition of a custom field changed. Leads or appointments show it as it is now.",
    is_change=True,
)
CUSTOM_FIELD_DELETED = Topic(
    "custom_field.deleted",
    serializers.CustomFieldDetailSerializer,
    "A custom field was deleted. Leads or appointments no longer show it.",
)
# Here, because `statuses` and `webhooks` don't know each other.
STATUS_CREATED = Topic("status.created", StatusDetailSerializer, "A status was added.")
STATUS_UPDATED = Topic(
    "status.updated",
    StatusDetailSerializer,
    "A status was renamed or changed. Leads and appointments show it as it is now.",
    is_change=True,
)
STATUS_DELETED = Topic("status.deleted", StatusDetailSerializer, "A status that nothing used was deleted.")
