"""What the worker does about notifications."""

from celery import shared_task

from notifications.mail import Mail
from notifications.services import DRAIN
from notifications.slack import Slack
from pipeline_backend.courier import deliver
from pipeline_backend.doorbell import Doorbell

QUEUES = [Mail().queue(), Slack().queue()]


@shared_task(name=DRAIN)
def drain(organization_id: str) -> None:
    """Have sent what is due in one organization; ring again if a turn was not enough."""
    if any([deliver(queue, organization_id) for queue in QUEUES]):  # noqa: C419  # each gets its turn
        Doorbell.ring(DRAIN, organization_id)


@shared_task(name="notifications.sweep")
def sweep() -> None:
    """Find what no doorbell announced."""
    for organization_id in {group for queue in QUEUES for group in queue.due()}:
        Doorbell.ring(DRAIN, organization_id)
