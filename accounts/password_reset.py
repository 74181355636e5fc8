"""Password resets: a person asks for a link, and gets it by e-mail if an account has the address."""

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import transaction
from django.db.models import Max
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from uuid_utils.compat import uuid7

from foundation.db.deletes import delete_in_batches
from foundation.db.timestamps import now
from foundation.outbox import notify_on_commit
from organizations.models import PasswordReset, SecurityEvent, SecurityEventKind, User
from organizations.security_log import record_security_event

# Of a link, and so of the request for one.
VALID_FOR = timedelta(seconds=settings.PASSWORD_RESET_TIMEOUT)
# A stranger can ask for somebody's links, but can't use them up: only those that still work count, which are all in the
# person's mailbox. Nor can they fill the mailbox by asking whenever the person has signed in.
MAX_WORKING_LINKS = 3
MAX_LINKS_PER_HOUR = 12
# Each changes what `ResetTokenGenerator` signs.
ENDS_OF_LINKS = (
    SecurityEventKind.SIGNED_IN,
    SecurityEventKind.PASSWORD_CHANGED,
    SecurityEventKind.PASSWORD_RESET,
    SecurityEventKind.EMAIL_CHANGED,
    SecurityEventKind.INVITATION_ACCEPTED,
    SecurityEventKind.ROLE_CHANGED,
    SecurityEventKind.MEMBER_ACTIVATED,
    SecurityEventKind.MEMBER_DEACTIVATED,
    SecurityEventKind.MEMBER_LEFT,
)


class ResetTokenGenerator(PasswordResetTokenGenerator):
    """Tokens die with a sign-in, and with any change of the account's password, address, access or memberships."""

    key_salt = "accounts.password_reset"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        memberships = user.memberships.order_by("pk").values_list("organization_id", "role", "is_active")
        state = [user.is_active, user.is_superuser, user.email, *memberships]
        return f"{super()._make_hash_value(user, timestamp)}{state}"


reset_tokens = ResetTokenGenerator()


@transaction.atomic
def request_password_reset(*, email: str) -> None:
    """Store the request, in the same steps for any address. The worker mails a link if an account has it."""
    id = uuid7()
    PasswordReset.objects.create(id=id, group_id=id, email=email.strip())
    notify_on_commit(PasswordReset, id)


def choose_recipient(reset: PasswordReset) -> User | None:
    """Return the account to mail, and note it in the row. None if there is none, or if it got enough mails lately.

    Locks the account, so that two workers can't both send the last permitted mail.
    """
    user: User | None = User.objects.with_email(reset.email).filter(is_active=True).select_for_update().first()
    if user is None:
        return None
    an_hour_ago = now() - timedelta(hours=1)
    recent = PasswordReset.objects.filter(user=user, created_at__gt=an_hour_ago).exclude(pk=reset.pk)
    ends = SecurityEvent.objects.filter(user=user, kind__in=ENDS_OF_LINKS, created_at__gt=an_hour_ago)
    ended_at = ends.aggregate(latest=Max("created_at", default=an_hour_ago))["latest"]
    if recent.count() >= MAX_LINKS_PER_HOUR or recent.filter(created_at__gt=ended_at).count() >= MAX_WORKING_LINKS:
        return None
    if reset.user_id is None:
        PasswordReset.objects.filter(pk=reset.pk).update(user=user)
        record_security_event(SecurityEventKind.PASSWORD_RESET_REQUESTED, user=user)
    return user


def reset_link(user: User) -> str:
    """Return a URL at which the user can choose a new password once. Only the mailbox and operators may get it."""
    args = [urlsafe_base64_encode(force_bytes(user.pk)), reset_tokens.make_token(user)]
    return f"{settings.BASE_URL}{reverse('admin_password_reset_confirm', args=args)}"


@transaction.atomic
def reset_password(*, user: User, token: str, password: str) -> bool:
    """Set the password, which ends all sessions, and verify the address. Return False if the token is used or expired.

    Locks the account.
    """
    user = User.objects.select_for_update().get(pk=user.pk)
    if not user.is_active or not reset_tokens.check_token(user, token):
        return False
    user.set_password(password)
    # The link was mailed to the address, or an operator answers for the person.
    user.email_verified_at = now()
    user.save(update_fields=["password", "email_verified_at"])
    record_security_event(SecurityEventKind.PASSWORD_RESET, user=user)
    return True


def prune_password_resets() -> None:
    """Delete requests after a day, because they hold addresses that anyone may have typed."""
    yesterday = now() - timedelta(days=1)
    delete_in_batches(PasswordReset.objects.filter(created_at__lt=yesterday).order_by("created_at"))
