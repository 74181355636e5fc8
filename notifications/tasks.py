"""Celery tasks of notifications, and the queues they serve."""

from celery import shared_task

from notifications.mail import EmailChannel
from notifications.security_notices import SECURITY_NOTICES
from notifications.services import WAKE_UP_TASK
from notifications.slack import SlackChannel
from organizations.security_log import WAKE_UP_TASK as SECURITY_WAKE_UP_TASK
from pipeline_backend.outbox import dispatch, notify_on_commit

QUEUES = [EmailChannel().queue(), SlackChannel().queue()]


@shared_task(name=SECURITY_WAKE_UP_TASK)
def deliver_security_notices(user_id: str) -> None:
    """Send what is due to one person about their account; if there may be more, send another message."""
    if dispatch(SECURITY_NOTICES, user_id):
        notify_on_commit(SECURITY_WAKE_UP_TASK, user_id)


@shared_task(name=WAKE_UP_TASK)
def deliver_due(organization_id: str) -> None:
    """Send what is due in one organization; if there may be more, send another message."""
    # A list, not a generator: every queue has to be served, not only those before the first that has more.
    if any([dispatch(queue, organization_id) for queue in QUEUES]):  # noqa: C419
        notify_on_commit(WAKE_UP_TASK, organization_id)


# Remove after 0.3: messages that version 0.2 has published carry this name.
@shared_task(name="notifications.drain")
def deliver_due_old_name(organization_id: str) -> None:
    """Do the same as `deliver_due`."""
    deliver_due(organization_id)


@shared_task(name="notifications.sweep")
def sweep() -> None:
    """Send a message for every organization with due notifications, and every person with due security notices."""
    for organization_id in {group_id for queue in QUEUES for group_id in queue.groups_with_due_jobs()}:
        notify_on_commit(WAKE_UP_TASK, organization_id)
    for user_id in SECURITY_NOTICES.groups_with_due_jobs():
        notify_on_commit(SECURITY_WAKE_UP_TASK, user_id)
