"""Deleting a lead. Only undoing the import that has added it does so; else, leads are erased (`leads.privacy`)."""

from leads.models import Lead
from leads.privacy.traces import forget_traces
from leads.topics import DELETED
from organizations.actors import Actor
from webhooks.events import record_event


def delete_lead(lead: Lead, actor: Actor) -> None:
    """Delete a lead that no other row is about, and record the event; earlier events about it become the same.

    It must be locked against new references. Runs in the caller's transaction.
    """
    # What members have yet to get about its deleted appointments is still sent.
    forget_traces(DELETED, lead, Lead, [lead.pk], keeps_notifications=True)
    record_event(DELETED, lead, actor=actor)
    lead.delete()
