"""Deleting leads. Only undoing the import that has added them does so; else, leads are erased (`leads.privacy`)."""

from collections.abc import Sequence
from uuid import UUID

from leads.models import Lead
from leads.privacy.traces import forget_traces
from leads.topics import DELETED
from notifications.services import forget_deleted_leads
from organizations.actors import Actor
from organizations.models import Organization
from webhooks.events import record_events


def delete_leads(organization: Organization, ids: Sequence[UUID], actor: Actor) -> None:
    """Delete leads that no other rows are about, and record the events; earlier events about them become the same.

    They must be locked against new references. Runs in the caller's transaction.
    """
    forget_traces(DELETED, organization, {id: id for id in ids}, keeps_notifications=True)
    forget_deleted_leads(organization=organization, lead_ids=ids)
    record_events(DELETED, organization, ids, actor=actor)
    Lead.objects.of(organization).filter(pk__in=ids).delete()
