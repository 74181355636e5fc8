"""What the worker does about notifications."""

from celery import shared_task

from notifications.mail import EmailChannel
from notifications.services import WAKE_UP_TASK
from notifications.slack import SlackChannel
from pipeline_backend.outbox.dispatcher import dispatch
from pipeline_backend.outbox.wakeup import WakeUp

QUEUES = [EmailChannel().queue(), SlackChannel().queue()]


@shared_task(name=WAKE_UP_TASK)
def drain(organization_id: str) -> None:
    """Have sent what is due in one organization; ring again if a turn was not enough."""
    if any([dispatch(queue, organization_id) for queue in QUEUES]):  # noqa: C419  # each gets its turn
        WakeUp.ring(WAKE_UP_TASK, organization_id)


@shared_task(name="notifications.sweep")
def sweep() -> None:
    """Find what no doorbell announced."""
    for organization_id in {group for queue in QUEUES for group in queue.due()}:
        WakeUp.ring(WAKE_UP_TASK, organization_id)
