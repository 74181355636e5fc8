"""Invitations: an organization offers membership to an address; the person who reads its mail accepts or declines."""

import json
import re
from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.core import signing
from django.db import IntegrityError, transaction
from django.db.models import Sum
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac
from uuid_utils.compat import uuid7

from accounts.time_zone import known_zone
from foundation.api.emails import parse_email
from foundation.api.exceptions import Conflict, ValidationFailed
from foundation.db.timestamps import now
from foundation.outbox import State, notify_on_commit
from organizations.actors import staff_actor
from organizations.events import recorded_as_member
from organizations.models import Invitation, Membership, Organization, SecurityEventKind, User
from organizations.permissions import ROLE_ORDER, roles_up_to
from organizations.security_log import record_security_event
from organizations.services import add_member, lock_organization

VALID_FOR = timedelta(days=7)
MAX_SENT = 3
INVITATIONS_PER_DAY = 100  # of an organization, so that it can't mail strangers by the thousand
RESEND_INTERVAL = timedelta(minutes=5)
ACCOUNT_DISABLED = "Your account has been disabled."
UNSUBSCRIBE_SALT = "accounts.unsubscribe"
TOKEN_PATTERN = re.compile(r"([0-9a-f]{32})-([0-9a-f]{64})")


class InvitationClosed(Conflict):
    message = "This invitation is no longer valid. If you have accepted it, sign in; if not, ask for a new one."


class SignInRequired(Conflict):
    message = "Sign in to accept this invitation."


@transaction.atomic
def invite(
    *,
    organization: Organization,
    email: str,
    role: str,
    invited_by: User | None,
    assignable: Collection[str] = tuple(ROLE_ORDER),
    id: UUID | None = None,
) -> Invitation:
    """Invite the address. `invited_by` is None for a command. Locks the organization. Raises ValidationFailed."""
    lock_organization(organization)
    if role not in assignable:
        raise ValidationFailed({"role": ["must not be above your own"]})
    try:
        email = parse_email(email.strip())
    except ValueError as error:
        raise ValidationFailed({"email": [str(error)]}) from None
    unanswered = Invitation.objects.of(organization).unanswered().with_email(email)
    unanswered.filter(expires_at__lte=now()).update(withdrawn_at=now())
    if obstacle := find_obstacle(organization, email, assignable):
        raise ValidationFailed({"email": [obstacle]})
    invitation: Invitation = Invitation.objects.create(
        id=id or uuid7(),
        organization=organization,
        email=email,
        role=role,
        invited_by=invited_by,
        expires_at=now() + VALID_FOR,
    )
    record_invitation_event(SecurityEventKind.INVITED, invitation)
    notify_on_commit(Invitation, organization.pk)
    return invitation


def find_obstacle(organization: Organization, email: str, assignable: Collection[str]) -> str:
    """Return why the organization can't invite the address now, or "". Reads only the organization's own rows."""
    member = Membership.objects.of(organization).filter(user__in=User.objects.with_email(email)).first()
    if member and member.is_active:
        return "already belongs to a member"
    if member and member.role not in assignable:
        return "belonged to a member whose role is above yours; ask an owner to invite them"
    invitations = Invitation.objects.of(organization)
    if invitations.with_email(email).filter(unsubscribed_at__isnull=False).exists():
        return "belongs to a person who has asked for no more invitations"
    recent = invitations.filter(created_at__gt=now() - timedelta(days=1))
    # Withdrawing and inviting again could otherwise mail the address without end.
    if (recent.with_email(email).aggregate(sent=Sum("sent_count"))["sent"] or 0) >= MAX_SENT:
        return "was invited too often; try again tomorrow"
    if invitations.unanswered().with_email(email).exists():
        return "has an open invitation; send it again or withdraw it"
    if recent.count() >= INVITATIONS_PER_DAY:
        return f"was not invited: the organization has made {INVITATIONS_PER_DAY} invitations within a day"
    return ""


def record_invitation_event(kind: SecurityEventKind, invitation: Invitation, user: User | None = None) -> None:
    details = f"as {invitation.get_role_display()}"  # the role, and no address
    # Owners see address and browser of their members, which a person who declines never becomes.
    is_anonymous = kind == SecurityEventKind.INVITATION_DECLINED
    organization = invitation.organization
    record_security_event(kind, organization=organization, user=user, details=details, is_anonymous=is_anonymous)


def lock_open(invitation: Invitation) -> Invitation:
    stored: Invitation = Invitation.objects.of(invitation.organization).select_for_update().get(pk=invitation.pk)
    if not stored.is_open:
        raise InvitationClosed
    return stored


def lock_by_token(token: str) -> Invitation:
    lock_open(find_invitation(token))
    return find_invitation(token)  # again: it may have changed before the row was locked


@transaction.atomic
def send_again(*, invitation: Invitation, invited_by: User) -> None:
    """Mail the invitation again, for seven days. Locks it. Raises InvitationClosed, and Conflict if sent too often."""
    invitation = lock_open(invitation)
    if invitation.sent_count >= MAX_SENT or invitation.last_sent_at > now() - RESEND_INTERVAL:
        raise Conflict(f"An invitation is sent at most {MAX_SENT} times, and at most once in 5 minutes.")
    Invitation.objects.of(invitation.organization).filter(pk=invitation.pk).update(
        invited_by=invited_by,
        expires_at=now() + VALID_FOR,
        sent_count=invitation.sent_count + 1,
        last_sent_at=now(),
        state=State.PENDING,
        attempt_count=0,
        claim_count=0,
        next_attempt_at=Now(),
        lease_token=None,
        last_error="",
        finished_at=None,
    )
    notify_on_commit(Invitation, invitation.organization_id)


@transaction.atomic
def withdraw(*, invitation: Invitation) -> None:
    """Withdraw the invitation: its link stops working. Locks the invitation. Raises InvitationClosed."""
    close(lock_open(invitation), "withdrawn_at", SecurityEventKind.INVITATION_WITHDRAWN)


def invitation_link(invitation: Invitation) -> str:
    """Return the URL at which the invitation is answered. Only the address's mailbox and operators may get it."""
    return f"{settings.BASE_URL}{reverse('invitation', args=[f'{invitation.pk.hex}-{token_mac(invitation)}'])}"


def token_mac(invitation: Invitation, secret: str | None = None) -> str:
    """Return the link's secret part, derived from the invitation and SECRET_KEY, or from this former SECRET_KEY."""
    identity = [str(invitation.pk), str(invitation.organization_id), invitation.email, invitation.role]
    return salted_hmac("accounts.invitation", json.dumps(identity), secret=secret, algorithm="sha256").hexdigest()


def unsubscribe_path(invitation: Invitation) -> str:
    """Return the path that ends the organization's invitations to the address. It doesn't expire."""
    return reverse("unsubscribe_invitation", args=[signing.Signer(salt=UNSUBSCRIBE_SALT).sign(invitation.pk.hex)])


def find_by_unsubscribe_token(token: str) -> Invitation | None:
    """Return the invitation whose e-mail had this unsubscribe link, open or not; None for a link that isn't genuine."""
    try:
        pk = UUID(signing.Signer(salt=UNSUBSCRIBE_SALT).unsign(token))
    except signing.BadSignature:
        return None
    return Invitation.unscoped.select_related("organization").filter(pk=pk).first()


def find_invitation(token: str) -> Invitation:
    """Return the invitation that a link leads to. Raises InvitationClosed if it can't be accepted."""
    match = TOKEN_PATTERN.fullmatch(token)
    rows = Invitation.unscoped.select_related("organization", "invited_by")
    invitation = rows.filter(pk=UUID(match[1])).first() if match else None
    if match is None or invitation is None:
        raise InvitationClosed
    macs = [token_mac(invitation, secret) for secret in (None, *settings.SECRET_KEY_FALLBACKS)]
    is_genuine = any(constant_time_compare(match[2], mac) for mac in macs)
    if not (is_genuine and invitation.is_open and invitation.organization.is_active and may_still_invite(invitation)):
        raise InvitationClosed
    return invitation


def may_still_invite(invitation: Invitation) -> bool:
    """Return whether the inviter may still assign the role: no one may leave an invitation behind for themselves."""
    inviter = invitation.invited_by
    if inviter is None or inviter.is_superuser:
        return inviter is None or inviter.is_active
    member = Membership.objects.of(invitation.organization).filter(user=inviter, is_active=True).first()
    return bool(member and inviter.is_active and invitation.role in roles_up_to(member.role))


def needs_sign_in(account: User | None, invitation: Invitation) -> bool:
    """Return whether accepting the invitation requires being signed in as this account.

    The link opens an account with an unverified address, but never an operator's, nor one with two-factor sign-in
    (whose address an operator has changed), nor one whose mail goes to another mailbox.
    """
    if account is None:
        return False
    is_protected = account.email_verified_at or account.two_factor_enabled_at or account.is_superuser
    # Only the case of ASCII letters may differ: PostgreSQL's lower() may turn a letter such as \u0130 into an ASCII
    # one, and such a domain can have another owner.
    return bool(is_protected) or account.email.encode().lower() != invitation.email.encode().lower()


def has_open_invitation(user: User) -> bool:
    """Return whether the user may sign in to accept an invitation, even without being a member of any organization."""
    rows = Invitation.unscoped.unanswered().with_email(user.email)
    return rows.filter(expires_at__gt=now(), organization__is_active=True).exists()


@transaction.atomic
def accept(
    *, token: str, signed_in_user: User | None, password: str = "", time_zone: str = "", **names: str
) -> Membership:
    """Make the person with the invited address a member. Their address is verified from now on.

    A new account gets this time zone, or the organization's if it is unknown.

    An account that `needs_sign_in` must be the signed-in one. Any other gets password and names, which ends its
    sessions; without an account, one is created. Locks invitation and account. Raises InvitationClosed, SignInRequired.
    """
    invitation = lock_by_token(token)
    account = User.objects.with_email(invitation.email).select_for_update().first()
    if account and not account.is_active:
        raise InvitationClosed(ACCOUNT_DISABLED)
    if account is None or not needs_sign_in(account, invitation):
        if not password:
            raise SignInRequired
        names["time_zone"] = known_zone(time_zone) or invitation.organization.time_zone
        account = prove_address(account, invitation.email, password, names)
    elif account != signed_in_user:
        raise SignInRequired
    member: Membership | None = Membership.objects.of(invitation.organization).filter(user=account).first()
    if member is None or not member.is_active:
        member = add_member(organization=invitation.organization, user=account, role=invitation.role)
    invitation.accepted_at = now()
    invitation.save(update_fields=["accepted_at"])
    record_invitation_event(SecurityEventKind.INVITATION_ACCEPTED, invitation, account)
    return member


def prove_address(account: User | None, email: str, password: str, names: dict[str, str]) -> User:
    """Create the account, or give it to the person who has proved its address: its password and sessions end."""
    if account is None:
        try:
            with transaction.atomic():
                return User.objects.create_user(email, password, email_verified_at=now(), **names)
        except IntegrityError:
            raise SignInRequired("An account with this address has just been created. Open the link again.") from None
    with recorded_as_member(account, staff_actor(account)):
        account.set_password(password)
        account.email_verified_at = now()
        account.first_name, account.last_name = names["first_name"], names["last_name"]
        account.save(update_fields=["password", "email_verified_at", "first_name", "last_name"])
    record_security_event(SecurityEventKind.PASSWORD_RESET, user=account)
    return account


@transaction.atomic
def decline(*, token: str) -> None:
    """Decline the invitation. Locks it. Raises InvitationClosed."""
    close(lock_by_token(token), "declined_at", SecurityEventKind.INVITATION_DECLINED)


@transaction.atomic
def unsubscribe(*, invitation: Invitation) -> None:
    """Decline the open invitation, and refuse new ones. Repeating is safe. Locks organization, then invitation."""
    organization = invitation.organization
    lock_organization(organization)
    rows = Invitation.objects.of(organization)
    rows.filter(pk=invitation.pk, unsubscribed_at=None).update(unsubscribed_at=now())
    end_unconfirmed_membership(invitation)
    unanswered = rows.unanswered().with_email(invitation.email).filter(expires_at__gt=now())
    for declined in unanswered.select_for_update():
        close(declined, "declined_at", SecurityEventKind.INVITATION_DECLINED)


@transaction.atomic
def allow_again(*, invitation: Invitation, consent: str) -> None:
    """End a person's refusal, and log how they agreed. For operators. Repeating is safe. Locks the organization."""
    organization = invitation.organization
    lock_organization(organization)
    suppressed = Invitation.objects.of(organization).with_email(invitation.email).exclude(unsubscribed_at=None)
    if suppressed.update(unsubscribed_at=None):
        record_security_event(SecurityEventKind.INVITATIONS_ALLOWED, organization=organization, details=consent)


def close(invitation: Invitation, column: str, kind: SecurityEventKind) -> None:
    """Store the time in the column, and log it. The caller has locked the invitation."""
    setattr(invitation, column, now())
    invitation.save(update_fields=[column])
    end_unconfirmed_membership(invitation)
    record_invitation_event(kind, invitation)


def end_unconfirmed_membership(invitation: Invitation) -> None:
    """If the person is a member from before there were invitations, end that: no one can name them any more."""
    rows = Membership.objects.of(invitation.organization).filter(is_unconfirmed=True)
    for member in rows.filter(user__in=User.objects.with_email(invitation.email)).select_related("user"):
        with recorded_as_member(member.user, staff_actor(member.user)):
            rows.filter(pk=member.pk).update(is_unconfirmed=False)


def open_invitations_for(email: str) -> list[Invitation]:
    """Return the open invitations of an address, in all organizations. Only for operators."""
    rows = Invitation.unscoped.unanswered().with_email(email).select_related("organization", "invited_by")
    return [invitation for invitation in rows if invitation.is_open and may_still_invite(invitation)]
