"""What happens to leads."""

from leads.serializers import LeadSerializer
from webhooks.topics import Topic

CREATED = Topic(
    "lead.created", serializer=LeadSerializer, summary="A lead is new: from a booking, an opt-in, or added by staff."
)
STATUS_CHANGED = Topic(
    "lead.status_changed", serializer=LeadSerializer, summary="A lead moved on its board; previous has the old status."
)
