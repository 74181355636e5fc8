"""Celery tasks of account e-mails."""

from celery import shared_task

from pipeline_backend.accounts import invitations, password_reset
from pipeline_backend.accounts.mail import INVITATIONS, PASSWORD_RESETS
from pipeline_backend.outbox import dispatch


@shared_task(name=invitations.WAKE_UP_TASK)
def deliver_invitations(organization_id: str) -> None:
    """Mail an organization's due invitations."""
    dispatch(INVITATIONS, organization_id)


@shared_task(name=password_reset.WAKE_UP_TASK)
def deliver_password_reset(reset_id: str) -> None:
    """Mail the link that was asked for."""
    dispatch(PASSWORD_RESETS, reset_id)


@shared_task(name="accounts.prune")
def prune() -> None:
    """Delete password resets that have ended long ago."""
    password_reset.prune_password_resets()
