"""What the worker does about notifications."""

from celery import shared_task

from notifications.mail import NOTIFICATIONS
from notifications.services import DRAIN
from pipeline_backend.outbox import Doorbell


@shared_task(name=DRAIN)
def drain(organization_id: str) -> None:
    """Send what is due in one organization; ring again if a turn was not enough."""
    if NOTIFICATIONS.drain(organization_id):
        Doorbell.ring(DRAIN, organization_id)


@shared_task(name="notifications.sweep")
def sweep() -> None:
    """Find what no doorbell announced."""
    for organization_id in NOTIFICATIONS.due():
        Doorbell.ring(DRAIN, organization_id)
