"""The queues of account e-mails: invitations, links for choosing a new password, and security notices."""

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db.models import Q, QuerySet

from accounts import security_notices
from accounts.invitations import invitation_link, unsubscribe_path
from accounts.password_reset import VALID_FOR, choose_recipient, reset_link
from foundation.db.timestamps import now
from foundation.outbox import Result
from notifications.daily_limit import DailyLimit
from notifications.mail import build_email, single_line
from notifications.queues import MailQueue
from organizations.models import Invitation, Organization, PasswordReset, SecurityNotice, User


class InvitationQueue(MailQueue[Organization, Invitation]):
    """Invitations, grouped by organization. They count towards the organization's limit on e-mails."""

    name, label = "invitations", "account e-mails"
    model = Invitation
    group_field, group_model = "organization", Organization
    related = ("organization", "invited_by")
    enabled = Q(is_active=True)
    limit = DailyLimit()

    def render(self, invitation: Invitation) -> EmailMultiAlternatives | Result:
        """Return the e-mail with the link, unless the invitation has been answered or withdrawn, or has expired."""
        if not invitation.is_open:
            return Result(error="closed", is_final=True)
        inviter = invitation.invited_by
        context = {
            "organization": single_line(invitation.organization.name),
            "role": invitation.get_role_display(),
            "inviter": single_line(f"{inviter} ({inviter.email})") if inviter else "",
            "expires_at": invitation.expires_at,
            "link": invitation_link(invitation),
            "unsubscribe_url": f"{settings.BASE_URL}{unsubscribe_path(invitation)}",
        }
        subject = f"Invitation to {context['organization']}"
        return build_email(invitation.email, subject, "accounts/invitation_email", context)


class PasswordResetQueue(MailQueue[PasswordReset, PasswordReset]):
    """Links for choosing a new password. Each is a group of its own."""

    name, label = "password_resets", "account e-mails"
    model = group_model = PasswordReset
    group_field = "group"

    def read_jobs(self, due: QuerySet) -> list[PasswordReset]:
        """Also choose whom to mail, if anybody, and make the link, because rendering makes no query."""
        resets = list(due)
        for reset in resets:
            is_expired = reset.created_at < now() - VALID_FOR
            reset.user = None if is_expired else choose_recipient(reset)
            reset.link = reset_link(reset.user) if reset.user else ""
        return resets

    def render(self, reset: PasswordReset) -> EmailMultiAlternatives | Result:
        """Return the e-mail with the link, if an account has the address."""
        if reset.user is None:
            return Result()
        context = {"link": reset.link, "email": reset.user.email}
        return build_email(reset.user.email, "Choose a new password", "accounts/password_reset_email", context)


class SecurityNoticeQueue(MailQueue[User, SecurityNotice]):
    """E-mails about a person's account, grouped by person."""

    name, label = "security_notices", "notifications"
    model = SecurityNotice
    group_field, group_model = "user", User
    related = ("event", "user")

    def render(self, notice: SecurityNotice) -> EmailMultiAlternatives:
        return security_notices.render(notice)


INVITATIONS, PASSWORD_RESETS, SECURITY_NOTICES = InvitationQueue(), PasswordResetQueue(), SecurityNoticeQueue()
