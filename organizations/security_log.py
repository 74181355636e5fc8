"""The security log: sign-ins, changes to accounts and members, and API keys, with the address they came from."""

from contextvars import ContextVar
from datetime import timedelta

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.dispatch import Signal, receiver
from django.http import HttpRequest

from foundation.api.client_address import client_address
from foundation.db.deletes import delete_in_batches
from foundation.db.timestamps import now
from foundation.outbox import notify_on_commit
from organizations.isolation import bypass_rls
from organizations.models import Membership, Organization, SecurityEvent, SecurityEventKind, SecurityNotice, User

KEEP_ADMIN_LOG_DAYS = 1095  # at least: three years of the admin's history
# The person gets an e-mail, because it may not have been them.
MAILED_KINDS = frozenset(
    {
        SecurityEventKind.PASSWORD_CHANGED,
        SecurityEventKind.PASSWORD_RESET,
        SecurityEventKind.EMAIL_CHANGED,
        SecurityEventKind.TWO_FACTOR_ENABLED,
        SecurityEventKind.TWO_FACTOR_DISABLED,
        SecurityEventKind.TWO_FACTOR_RESET,
        SecurityEventKind.RECOVERY_CODE_USED,
        SecurityEventKind.RECOVERY_CODES_REPLACED,
    }
)

# The request that is being served, so that services don't have to pass it on. None in commands and workers.
current_request: ContextVar[HttpRequest | None] = ContextVar("current_request", default=None)


def record_security_event(
    kind: SecurityEventKind,
    *,
    user: User | None = None,
    organization: Organization | None = None,
    actor: User | None = None,
    details: str = "",
    is_mailed: bool = False,
    former_email: str = "",
    is_anonymous: bool = False,
) -> SecurityEvent:
    """Add an entry to the log, in the caller's transaction.

    `user` is the person whose account it is about; an event of the account alone has no `organization`. `actor` is the
    signed-in user by default. `details` is shown to owners: never pass a secret, or an address that has no account.
    The user gets an e-mail about the kinds in MAILED_KINDS, and about others if `is_mailed`: at `former_email` if the
    event is that the address is no longer theirs. An event that `is_anonymous` has nothing of the request: no signed-in
    user, address or browser.
    """
    request = None if is_anonymous else current_request.get()
    if actor is None and request is not None and hasattr(request, "user") and isinstance(request.user, User):
        actor = request.user
    event = SecurityEvent.objects.create(
        kind=kind,
        user=user,
        organization=organization,
        actor=actor,
        details=details[:300],
        address=client_address(request.META)[:64] if request else "",
        user_agent=shorten_user_agent(request.headers.get("User-Agent", "")) if request else "",
    )
    if user is not None and (is_mailed or kind in MAILED_KINDS):
        with bypass_rls():  # requests may not read this table, not even the row that they insert
            SecurityNotice.objects.create(event=event, user=user, email=former_email or user.email)
        notify_on_commit(SecurityNotice, user.pk)
    return event


@receiver([user_logged_in, user_logged_out], dispatch_uid="organizations.security_log")
def record_sign_in_or_out(sender: type[User], signal: Signal, user: User | None, **_: object) -> None:
    if current_request.get() is not None and user is not None:
        kind = SecurityEventKind.SIGNED_IN if signal is user_logged_in else SecurityEventKind.SIGNED_OUT
        record_security_event(kind, user=user, actor=user)


@receiver(user_login_failed, dispatch_uid="organizations.security_log")
def record_failed_sign_in(sender: str, credentials: dict[str, str], **_: object) -> None:
    """Log a wrong password, also for an unknown name (which is not stored): the time must not show which exist."""
    if current_request.get() is None:
        return
    with bypass_rls():
        user = User.objects.with_email(credentials.get("username", "")).first()
    record_security_event(SecurityEventKind.SIGN_IN_FAILED, user=user)


def shorten_user_agent(text: str) -> str:
    """Return the text on one line, with at most 200 printable characters."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())[:200]


def visible_security_events(user: User, owned_organizations: QuerySet[Organization]) -> QuerySet[SecurityEvent]:
    """Return events of the user, of owned organizations, and of active members' accounts since they joined those."""
    members = Membership.unscoped.filter(organization__in=owned_organizations, is_active=True, user=OuterRef("user"))
    is_member_account = Exists(members.filter(created_at__lte=OuterRef("created_at")))
    return SecurityEvent.objects.filter(
        Q(user=user) | Q(organization__in=owned_organizations) | Q(is_member_account, organization=None)
    )


def prune_security_events() -> int:
    cutoff = now() - timedelta(days=settings.KEEP_SECURITY_EVENTS_DAYS)
    return delete_in_batches(SecurityEvent.objects.filter(created_at__lt=cutoff).order_by("created_at"))


def prune_admin_log() -> int:
    cutoff = now() - timedelta(days=max(KEEP_ADMIN_LOG_DAYS, settings.KEEP_SECURITY_EVENTS_DAYS))
    return delete_in_batches(LogEntry.objects.filter(action_time__lt=cutoff).order_by("pk"))
