"""Celery tasks of webhooks."""

from celery import shared_task

from organizations.models import Organization
from pipeline_backend.outbox import dispatch, notify_on_commit
from webhooks.pruning import prune
from webhooks.queue import DELIVERIES
from webhooks.services import WAKE_UP_TASK


@shared_task(name=WAKE_UP_TASK)
def deliver_due(endpoint_id: str) -> None:
    """Deliver what is due to one endpoint; if there may be more, send another message."""
    if dispatch(DELIVERIES, endpoint_id):
        notify_on_commit(WAKE_UP_TASK, endpoint_id)


# Remove after 0.3: messages that version 0.2 has published carry this name.
@shared_task(name="webhooks.drain")
def deliver_due_old_name(endpoint_id: str) -> None:
    """Do the same as `deliver_due`."""
    deliver_due(endpoint_id)


@shared_task(name="webhooks.sweep")
def sweep() -> None:
    """Send a message for every endpoint with due deliveries: retries, lost messages, leases of dead workers."""
    for endpoint_id in DELIVERIES.groups_with_due_jobs():
        notify_on_commit(WAKE_UP_TASK, endpoint_id)


@shared_task(name="webhooks.prune")
def prune_all() -> None:
    """Delete deliveries that finished long ago, in every organization."""
    for organization in Organization.objects.iterator():
        prune(organization=organization)
