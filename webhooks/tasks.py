"""What the worker does about webhooks."""

from celery import shared_task

from organizations.models import Organization
from pipeline_backend.outbox.dispatcher import dispatch
from pipeline_backend.outbox.wakeup import WakeUp
from webhooks.pruning import prune
from webhooks.queue import DELIVERIES
from webhooks.services import WAKE_UP_TASK


@shared_task(name=WAKE_UP_TASK)
def drain(endpoint_id: str) -> None:
    """Have sent what is due to one endpoint; ring again if a turn was not enough."""
    if dispatch(DELIVERIES, endpoint_id):
        WakeUp.ring(WAKE_UP_TASK, endpoint_id)


@shared_task(name="webhooks.sweep")
def sweep() -> None:
    """Find what no doorbell announced: retries, lost rings, leases of dead workers."""
    for endpoint_id in DELIVERIES.due():
        WakeUp.ring(WAKE_UP_TASK, endpoint_id)


@shared_task(name="webhooks.prune")
def prune_all() -> None:
    """Forget what ended long ago, in every organization."""
    for organization in Organization.objects.iterator():
        prune(organization=organization)
