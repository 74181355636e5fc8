"""What happens to leads."""

from leads.shapes import LeadDetail
from webhooks.catalogue import EventType

CREATED = EventType("lead.created", shape=LeadDetail, summary="A lead is new: from a booking, an opt-in, or added by staff.")
STATUS_CHANGED = EventType("lead.status_changed", shape=LeadDetail, summary="A lead moved on its board; previous has the old status.")
