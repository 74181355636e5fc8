"""Celery tasks of notifications."""

from celery import shared_task

from notifications.queues import EMAILS, SECURITY_NOTICES, SLACK_MESSAGES
from notifications.services import WAKE_UP_TASK
from organizations.security_log import WAKE_UP_TASK as SECURITY_WAKE_UP_TASK
from pipeline_backend.outbox import dispatch


@shared_task(name=SECURITY_WAKE_UP_TASK)
def deliver_security_notices(user_id: str) -> None:
    """Send what is due to one person about their account."""
    dispatch(SECURITY_NOTICES, user_id)


@shared_task(name=WAKE_UP_TASK)
def deliver_due(organization_id: str) -> None:
    """Send what is due in one organization."""
    dispatch(EMAILS, organization_id)
    dispatch(SLACK_MESSAGES, organization_id)


# Remove after 0.3: messages that version 0.2 has published carry this name.
@shared_task(name="notifications.drain")
def deliver_due_old_name(organization_id: str) -> None:
    """Do the same as `deliver_due`."""
    deliver_due(organization_id)


# Remove after 0.3: the beat of version 0.2 sends it every two seconds.
@shared_task(name="notifications.sweep")
def sweep() -> None:
    """Do nothing: dispatchers look for due notifications themselves."""
