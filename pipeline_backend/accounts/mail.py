"""The two queues of account e-mails: invitations, and links for choosing a new password."""

from contextlib import AbstractAsyncContextManager
from typing import Any

from django.conf import settings
from django.core.mail.backends.base import BaseEmailBackend
from django.db.models import Model, Q

from notifications.daily_limit import DAILY_LIMIT
from notifications.mail import build_email, mail_session, send_email, single_line
from organizations.models import Invitation, Organization, PasswordReset, User
from pipeline_backend.accounts.invitations import invitation_link, role_label, unsubscribe_path
from pipeline_backend.accounts.password_reset import VALID_FOR, choose_recipient, reset_link
from pipeline_backend.db.timestamps import now
from pipeline_backend.outbox import Queue, Result


def open_invitation_session(organization: Organization) -> AbstractAsyncContextManager[Any]:
    """Open the connection over which an organization's invitations are sent."""
    return mail_session(send_invitation)


def send_invitation(invitation: Invitation, connection: BaseEmailBackend) -> Result:
    """Mail the invitation with its link, unless it has been answered or withdrawn, or has expired."""
    if not invitation.is_open:
        return Result(error="closed", is_final=True)
    inviter = invitation.invited_by
    context = {
        "organization": single_line(invitation.organization.name),
        "role": role_label(invitation),
        "inviter": single_line(f"{inviter} ({inviter.email})") if inviter else "",
        "expires_at": invitation.expires_at,
        "link": invitation_link(invitation),
        "unsubscribe_url": f"{settings.BASE_URL}{unsubscribe_path(invitation)}",
    }
    subject = f"Invitation to {context['organization']}"
    email = build_email(invitation.email, subject, "accounts/invitation_email", context)
    return send_email(email, connection)


class ResetJob:
    """A claimed password reset with what its e-mail needs, read while it was claimed."""

    def __init__(self, reset: PasswordReset) -> None:
        self.pk, self.group_id = reset.pk, reset.group_id
        self.attempt_count, self.claim_count, self.lease_token = (
            reset.attempt_count,
            reset.claim_count,
            reset.lease_token,
        )
        is_expired = reset.created_at < now() - VALID_FOR
        self.recipient: User | None = None if is_expired else choose_recipient(reset)
        # Only here, and never stored: the link is a secret.
        self.link = reset_link(self.recipient) if self.recipient else ""


def open_reset_session(group: Model) -> AbstractAsyncContextManager[Any]:
    """Open the connection over which a password reset is sent."""
    return mail_session(send_reset)


def send_reset(job: ResetJob, connection: BaseEmailBackend) -> Result:
    """Mail the link, if an account has the address."""
    if job.recipient is None:
        return Result()
    context = {"link": job.link, "email": job.recipient.email}
    email = build_email(job.recipient.email, "Choose a new password", "accounts/password_reset_email", context)
    return send_email(email, connection)


INVITATIONS = Queue(
    model=Invitation,
    group_field="organization",
    group_model=Organization,
    open_session=open_invitation_session,
    enabled=Q(is_active=True),
    select_for_claim=lambda due: due.select_related("organization", "invited_by"),
    build_job=lambda invitation: invitation,
    limit=DAILY_LIMIT,
)
PASSWORD_RESETS = Queue(
    model=PasswordReset,
    group_field="group",
    group_model=PasswordReset,
    open_session=open_reset_session,
    enabled=Q(),
    select_for_claim=lambda due: due,
    build_job=ResetJob,
)
