"""What a worker does when a message says that a group has jobs: send what is due, here and now."""

from foundation.outbox import Job
from notifications.models import Notification
from pipeline_backend.tasks import deliver_due
from webhooks.models import Delivery


def send_jobs(model: type[Job], group_id: object) -> None:
    """Run the task of the message that `notify_on_commit` sends."""
    deliver_due(model._meta.label_lower, str(group_id))


def send_notifications(organization_id: object) -> None:
    """Send the due notifications of one organization, on every channel."""
    send_jobs(Notification, organization_id)


def send_deliveries(endpoint_id: object) -> None:
    """Send the due deliveries of one endpoint, or let the dispatcher of this process do it."""
    send_jobs(Delivery, endpoint_id)
