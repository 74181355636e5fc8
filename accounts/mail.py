"""The queues of account e-mails: invitations, links to choose a password or verify an address, security notices."""

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.db.models import Q, QuerySet

from accounts.invitations import invitation_link, unsubscribe_path
from accounts.new_password import VALID_FOR, choose_recipient, reset_link
from accounts.sessions import describe_browser
from accounts.verification import verification_link
from foundation.db.timestamps import now
from foundation.outbox import Result
from notifications.daily_limit import DailyLimit
from notifications.mail import build_email, format_local_time, single_line
from notifications.queues import MailQueue
from organizations.models import Invitation, Organization, PasswordReset, SecurityEventKind, SecurityNotice, User

# How a security notice says what has happened. For other kinds it uses the kind's label.
SENTENCES = {
    # Failed sign-ins are not mailed, only wrong passwords of a person who is signed in already.
    SecurityEventKind.SIGN_IN_FAILED: "Someone who is signed in to your account entered several wrong passwords",
    SecurityEventKind.TWO_FACTOR_FAILED: "Someone entered your password and then several wrong codes",
    # Of an account; a role in an organization isn't mailed.
    SecurityEventKind.ROLE_CHANGED: "Your rights as an operator of the installation were changed",
    SecurityEventKind.RECOVERY_CODE_USED: "A recovery code was used to sign in",
}


class InvitationQueue(MailQueue[Organization, Invitation]):
    name, label = "invitations", "account e-mails"
    model = Invitation
    group_field, group_model = "organization", Organization
    related = ("organization", "invited_by")
    enabled = Q(is_active=True)
    limit = DailyLimit()

    def render(self, invitation: Invitation) -> EmailMultiAlternatives | Result:
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
    name, label = "password_resets", "account e-mails"
    model = group_model = PasswordReset
    group_field = "group"

    def select_jobs(self, due: QuerySet) -> QuerySet:
        return due

    def complete_jobs(self, jobs: list[PasswordReset]) -> list[PasswordReset]:
        """Choose the account to mail, if there is one, and make the link, because rendering makes no query."""
        for reset in jobs:
            if reset.is_verification:
                reset.link = verification_link(reset.user) if reset.user else ""
                continue
            reset.user = None if reset.created_at < now() - VALID_FOR else choose_recipient(reset)
            reset.link = reset_link(reset.user) if reset.user else ""
        return jobs

    def render(self, reset: PasswordReset) -> EmailMultiAlternatives | Result:
        if reset.user is None:
            return Result()
        context = {"link": reset.link, "email": reset.user.email}
        if reset.is_verification:
            return build_email(reset.user.email, "Verify your address", "accounts/verification_email", context)
        return build_email(reset.user.email, "Choose a new password", "accounts/password_reset_email", context)


class SecurityNoticeQueue(MailQueue[User, SecurityNotice]):
    name, label = "security_notices", "notifications"
    model = SecurityNotice
    group_field, group_model = "user", User
    related = ("event", "user")

    def render(self, notice: SecurityNotice) -> EmailMultiAlternatives:
        """Return the e-mail. It has no link to unsubscribe, which a thief of the account would use."""
        event, user, email = notice.event, notice.user, notice.email or notice.user.email
        sentence = SENTENCES.get(SecurityEventKind(event.kind), event.get_kind_display())
        context = {
            "sentence": sentence,
            "email": email,
            "when": format_local_time(event.created_at, user.time_zone),
            "address": event.address,
            "browser": describe_browser(event.user_agent) if event.user_agent else "",
        }
        return build_email(email, single_line(f"Security notice: {sentence}"), "accounts/security_notice", context)


INVITATIONS, PASSWORD_RESETS, SECURITY_NOTICES = InvitationQueue(), PasswordResetQueue(), SecurityNoticeQueue()
