"""Services for organizations, members, users and API keys."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from foundation.api.exceptions import Conflict, ValidationFailed
from foundation.db.timestamps import now
from organizations.actors import Actor, staff_actor
from organizations.defaults import both_scopes
from organizations.events import key_revoked, key_rotated, recorded_as_member
from organizations.keys import new_key
from organizations.models import (
    IS_ACTIVE_MEMBER,
    ApiKey,
    MemberRole,
    Membership,
    Organization,
    SecurityEventKind,
    Session,
    User,
)
from organizations.security_log import record_security_event
from organizations.working_hours import Hours

# Of an organization, neither revoked nor expired. All live keys are read when one address has failed too often.
MAX_API_KEYS = 50
# How long the old key keeps working after a rotation.
OVERLAPS = {"now": timedelta(), "1h": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7)}
# Bounds a run, so that an organization with very many leads delays the others by seconds only.
BATCHES_PER_RUN = 20


def for_each_organization(
    action: Callable[..., object], organizations: QuerySet[Organization], most_calls: int = 1
) -> None:
    """Call `action(organization=...)` for each, again until it returns nothing or `most_calls` is reached.

    Leaves out those that are being moved. Raises errors at the end; at once if the database is unreachable.
    """
    errors = []
    for organization in organizations.filter(move="").iterator():
        try:
            for _ in range(most_calls):
                if not action(organization=organization):
                    break
        except Exception as error:
            if not connection.is_usable():
                raise
            error.add_note(f"Organization: {organization.pk}")
            errors.append(error)
    if errors:
        raise ExceptionGroup("The task failed for some organizations", errors)


def lock_organization(organization: Organization) -> None:
    Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)


def can_add_row(*, organization: Organization, rows: QuerySet, limit: int) -> bool:
    """Lock the organization, and return whether it has fewer than `limit` of `rows`, so that one may be added."""
    lock_organization(organization)
    # A second statement, because the one that waits for the lock does not see what was committed meanwhile.
    return bool(rows.order_by()[:limit].count() < limit)


def check_limit(*, organization: Organization, rows: QuerySet, limit: int, name: str, advice: str) -> None:
    if not can_add_row(organization=organization, rows=rows, limit=limit):
        raise Conflict(f"An organization can have at most {limit} {name}. {advice}")


@transaction.atomic
def issue_key(
    *,
    organization: Organization,
    name: str,
    scopes: list[str] | None = None,
    expires_at: datetime | None = None,
    created_by: User | None = None,
    id: UUID | None = None,
) -> tuple[ApiKey, str]:
    """Create a key, by default with the scopes of `both_scopes`; return it and its text, which isn't stored.

    Locks the organization. Raises Conflict at `MAX_API_KEYS`.
    """
    active = ApiKey.objects.of(organization).exclude(expires_at__lte=now()).filter(revoked_at=None)
    advice, limit = "Revoke one that is no longer needed first.", MAX_API_KEYS
    check_limit(organization=organization, rows=active, limit=limit, name="active API keys", advice=advice)
    parsed = new_key()
    key = ApiKey.objects.create(
        id=id,
        organization=organization,
        key_id=parsed.key_id,
        secret_hash=parsed.secret_hash,
        name=name,
        scopes=both_scopes() if scopes is None else scopes,
        expires_at=expires_at,
        created_by=created_by,
    )
    record_security_event(SecurityEventKind.KEY_ISSUED, organization=organization, actor=created_by, details=str(key))
    return key, parsed.text


@transaction.atomic
def rotate_key(*, key: ApiKey, overlap: str, created_by: User | None = None) -> tuple[ApiKey, str]:
    """Issue a key like this one, which expires after the overlap; return it and its text.

    Its webhook endpoints become the new key's. Locks the organization, then the key and those that it has replaced.
    Raises Conflict if the key isn't live, if it was replaced by one that is, or at `MAX_API_KEYS`.
    """
    lock_organization(key.organization)
    key = ApiKey.objects.of(key.organization).select_for_update().get(pk=key.pk)
    if not key.is_live:
        raise Conflict
    if key.replaced_by and key.replaced_by.is_live:
        raise Conflict("This key was replaced by a rotation. Rotate its successor")
    # A key that expires before the overlap ends isn't extended.
    key.expires_at = min(filter(None, [key.expires_at, now() + OVERLAPS[overlap]]))
    key.save(update_fields=["expires_at"])
    organization = key.organization
    record_security_event(SecurityEventKind.KEY_ROTATED, organization=organization, actor=created_by, details=str(key))
    new_key, text = issue_key(organization=organization, name=key.name, scopes=key.scopes, created_by=created_by)
    ApiKey.objects.of(organization).filter(Q(pk=key.pk) | Q(replaced_by=key)).update(replaced_by=new_key)
    key_rotated.send(None, key=key, new_key=new_key)
    return new_key, text


@transaction.atomic
def revoke_key(*, key: ApiKey) -> None:
    """Refuse the key from the next request on, and pause its webhook endpoints. Repeating it keeps the first time.

    Locks the organization, then the key.
    """
    lock_organization(key.organization)
    if ApiKey.objects.of(key.organization).filter(pk=key.pk, revoked_at=None).update(revoked_at=now()):
        key_revoked.send(None, key=key)
        record_security_event(SecurityEventKind.KEY_REVOKED, organization=key.organization, details=str(key))


@transaction.atomic
def add_member(*, organization: Organization, user: User, role: str = MemberRole.CLOSER) -> Membership:
    """Make a person who has consented an active member, again if need be. Raises Conflict for the last active owner."""
    member = Membership.objects.of(organization).filter(user=user).first()
    if member:
        ensure_active_owner(member, lock_owners(organization), role=role, is_active=True)
    values: dict[str, object] = {"role": role, "is_active": True, "is_unconfirmed": False}
    if member and not member.is_active:
        values["created_at"] = now()  # owners see a member's sign-ins from then on
        record_security_event(SecurityEventKind.MEMBER_ACTIVATED, user=user, organization=organization)
    with recorded_as_member(user, staff_actor(user)):
        member, _ = Membership.objects.of(organization).update_or_create(
            organization=organization, user=user, defaults=values
        )
    return member


@transaction.atomic
def change_member(
    *,
    actor: Actor,
    member: Membership,
    role: str | None = None,
    is_active: bool | None = None,
    wants_mail: bool | None = None,
    assignable: Collection[str] = tuple(MemberRole),
) -> Membership:
    """Change what is given of a member's role, access and notifications. Locks the owners, then the member.

    Raises Conflict as `ensure_active_owner` does, ValidationFailed if a role is not `assignable`, or for reactivation.
    """
    owners = lock_owners(member.organization)
    # Read and locked again: the caller's instance may already have the new values, or old ones.
    stored = Membership.objects.of(member.organization).select_for_update(no_key=True).get(pk=member.pk)
    role = stored.role if role is None else role
    is_active = stored.is_active if is_active is None else is_active
    wants_mail = stored.wants_mail if wants_mail is None else wants_mail
    ensure_active_owner(member, owners, role=role, is_active=is_active)
    is_changed = (stored.role, stored.is_active) != (role, is_active)
    if is_changed and not {stored.role, role} <= set(assignable):
        raise ValidationFailed({"role": ["must not be above your own, before or after the change"]})
    if is_active and not stored.is_active:
        raise ValidationFailed({"is_active": ["can't be set again; invite this person instead"]})
    member.role, member.is_active, member.wants_mail = role, is_active, wants_mail
    # A member who comes back gets a new calendar address: the former one may be known to others.
    member.calendar_secret_hash = stored.calendar_secret_hash if is_active else None
    with recorded_as_member(member.user, actor):
        member.save(update_fields=["role", "is_active", "wants_mail", "calendar_secret_hash"])
    user, organization = member.user, member.organization
    if stored.role != role:
        details = f"{MemberRole(stored.role).label} → {MemberRole(role).label}"
        record_security_event(SecurityEventKind.ROLE_CHANGED, user=user, organization=organization, details=details)
    if stored.is_active != is_active:
        record_security_event(SecurityEventKind.MEMBER_DEACTIVATED, user=user, organization=organization)
    return member


def set_working_hours(
    *, member: Membership, hours: Sequence[Hours] | None, days_off: Sequence[Sequence[str]] | None, buffer_minutes: int
) -> Membership:
    """Store when the member can have calls, as `organizations.working_hours` has it; None for the default week."""
    member.working_hours, member.days_off, member.buffer_minutes = hours, days_off, buffer_minutes
    member.save(update_fields=["working_hours", "days_off", "buffer_minutes"])
    return member


@transaction.atomic
def issue_calendar_secret(*, member: Membership) -> str:
    """Return a new secret for the member's iCalendar address, in place of the former one. It isn't stored."""
    secret = token_urlsafe(32)
    set_calendar_secret(member, sha256(secret.encode()).hexdigest(), SecurityEventKind.CALENDAR_ADDRESS_ISSUED)
    return secret


@transaction.atomic
def revoke_calendar_secret(*, member: Membership) -> None:
    set_calendar_secret(member, None, SecurityEventKind.CALENDAR_ADDRESS_REVOKED)


def set_calendar_secret(member: Membership, hash: str | None, kind: SecurityEventKind) -> None:
    member.calendar_secret_hash = hash
    member.save(update_fields=["calendar_secret_hash"])
    record_security_event(kind, user=member.user, organization=member.organization)


def find_by_calendar_secret(*, organization_id: UUID, secret: str) -> Membership | None:
    """Return the active member whose secret it is, or None."""
    members = Membership.objects.of(organization_id).filter(IS_ACTIVE_MEMBER, organization__is_active=True)
    hash = sha256(secret.encode()).hexdigest()
    return members.filter(calendar_secret_hash=hash).select_related("organization", "user").first()


@transaction.atomic
def leave_organization(*, member: Membership) -> None:
    """End the membership because the member wants to leave. Locks the owners. Raises Conflict for the last owner."""
    ensure_active_owner(member, lock_owners(member.organization), is_active=False)
    with recorded_as_member(member.user, staff_actor(member.user)):
        member.is_active, member.calendar_secret_hash = False, None
        member.save(update_fields=["is_active", "calendar_secret_hash"])
    record_security_event(SecurityEventKind.MEMBER_LEFT, user=member.user, organization=member.organization)


def lock_owners(organization: Organization) -> dict[UUID, bool]:
    """Lock the active owners; return whether the account of each is active."""
    owners = Membership.objects.of(organization).filter(role=MemberRole.OWNER, is_active=True)
    # The order prevents deadlocks between two changes that lock the same owners.
    rows = owners.select_related("user").select_for_update(of=["self"]).order_by("pk")
    return {owner.pk: owner.user.is_active for owner in rows}


def ensure_active_owner(
    member: Membership, owners: dict[UUID, bool], *, role: str = MemberRole.OWNER, is_active: bool
) -> None:
    """Raise Conflict if this change to the member leaves none of the locked owners who can sign in."""
    if role == MemberRole.OWNER and is_active:
        return
    others = {pk: can_sign_in for pk, can_sign_in in owners.items() if pk != member.pk}
    if member.pk in owners and not any(others.values()):
        raise Conflict(f"{member} is the last active owner; make someone else an owner first")


@transaction.atomic
def change_organization(*, organization: Organization, **fields: object) -> Organization:
    if not fields:
        return organization
    for name, value in fields.items():
        setattr(organization, name, value)
    organization.save(update_fields=[*fields])
    # The names alone: a value may be a secret.
    labels = [str(field.verbose_name) for field in Organization._meta.fields if field.name in fields]
    record_security_event(SecurityEventKind.ORGANIZATION_CHANGED, organization=organization, details=", ".join(labels))
    return organization


@transaction.atomic
def save_user(*, actor: Actor, user: User, changed: list[str]) -> User:
    """Store the changed fields, which the caller has checked. Locks the user. A new address is unverified.

    Deactivating or activating an account deletes its sessions and its members' calendar addresses.
    """
    stored = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if "email" in changed:
        user.email_verified_at = None
        changed = [*changed, "email_verified_at"]
        record_security_event(SecurityEventKind.EMAIL_CHANGED, user=user, former_email=stored.email)
    if "is_active" in changed:
        # Both times: a request that was signing in may have stored its session after the account was deactivated.
        Session.objects.filter(user=user).delete()
        user.memberships.update(calendar_secret_hash=None)
        kind = SecurityEventKind.MEMBER_ACTIVATED if user.is_active else SecurityEventKind.MEMBER_DEACTIVATED
        record_security_event(kind, user=user, details="The account, in all organizations")
    if "is_superuser" in changed:
        details = "Operator, with access to all organizations" if user.is_superuser else "No longer an operator"
        record_security_event(SecurityEventKind.ROLE_CHANGED, user=user, details=details, is_mailed=True)
    with recorded_as_member(user, actor):
        user.save(update_fields=changed)
    return user
