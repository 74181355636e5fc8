"""Celery tasks of webhooks."""

from celery import shared_task

from organizations.models import Organization
from pipeline_backend.outbox import dispatch
from webhooks.pruning import prune
from webhooks.queue import DELIVERIES


# Remove after 0.3: messages that version 0.2 has published carry this name.
@shared_task(name="webhooks.drain")
def deliver_due_old_name(endpoint_id: str) -> None:
    """Deliver what is due to one endpoint, as `outbox.deliver_due` does now."""
    dispatch(DELIVERIES, endpoint_id)


# Remove after 0.3: the beat of version 0.2 sends it every two seconds.
@shared_task(name="webhooks.sweep")
def sweep() -> None:
    """Do nothing: dispatchers look for due deliveries themselves."""


@shared_task(name="webhooks.prune")
def prune_all() -> None:
    """Delete deliveries that finished long ago, in every organization."""
    for organization in Organization.objects.iterator():
        prune(organization=organization)
