"""Celery tasks under the names of the previous release."""

from celery import shared_task

from notifications.queues import EMAILS, SLACK_MESSAGES
from pipeline_backend.outbox import dispatch


# Remove after 0.3: messages that version 0.2 has published carry this name.
@shared_task(name="notifications.drain")
def deliver_due_old_name(organization_id: str) -> None:
    """Send what is due in one organization, as `outbox.deliver_due` does now."""
    dispatch(EMAILS, organization_id)
    dispatch(SLACK_MESSAGES, organization_id)


# Remove after 0.3: the beat of version 0.2 sends it every two seconds.
@shared_task(name="notifications.sweep")
def sweep() -> None:
    """Do nothing: dispatchers look for due notifications themselves."""
