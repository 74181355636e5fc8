"""Webhook event topics of leads."""

from leads.serializers import LeadSerializer
from webhooks.topics import Topic

CREATED = Topic(
    "lead.created",
    serializer=LeadSerializer,
    summary="A lead was created by a booking, by an opt-in or by staff.",
)
STATUS_CHANGED = Topic(
    "lead.status_changed",
    serializer=LeadSerializer,
    summary="A lead's status changed.",
    previous=("status",),
)
