"""What happens to opt-ins."""

from optins.shapes import OptInDetail
from webhooks.catalogue import EventType

CREATED = EventType("opt_in.created", shape=OptInDetail, summary="A form was submitted; the lead is new or was known.")
