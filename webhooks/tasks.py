"""What the worker does about webhooks."""

from celery import shared_task

from organizations.models import Organization
from pipeline_backend.courier import deliver
from pipeline_backend.doorbell import Doorbell
from webhooks.deliveries import DELIVERIES
from webhooks.pruning import prune
from webhooks.services import DRAIN


@shared_task(name=DRAIN)
def drain(endpoint_id: str) -> None:
    """Have sent what is due to one endpoint; ring again if a turn was not enough."""
    if deliver(DELIVERIES, endpoint_id):
        Doorbell.ring(DRAIN, endpoint_id)


@shared_task(name="webhooks.sweep")
def sweep() -> None:
    """Find what no doorbell announced: retries, lost rings, leases of dead workers."""
    for endpoint_id in DELIVERIES.due():
        Doorbell.ring(DRAIN, endpoint_id)


@shared_task(name="webhooks.prune")
def prune_all() -> None:
    """Forget what ended long ago, in every organization."""
    for organization in Organization.objects.iterator():
        prune(organization=organization)
