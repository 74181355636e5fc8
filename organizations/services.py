"""What is done to members and keys."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from organizations.isolation import bypass_rls
from organizations.keys import new_key
from organizations.models import ApiKey, Membership, Organization, Role, Scope, User
from pipeline_backend.api.exceptions import Conflict, ValidationFailed
from pipeline_backend.db.timestamps import now

OVERLAPS = {"now": timedelta(), "1h": timedelta(hours=1), "24h": timedelta(hours=24), "7d": timedelta(days=7)}


class LastOwner(Conflict):
    """An organization must always have someone who can manage it."""

    message = "{name} is the last active owner; make someone else an owner first"


def issue_key(
    *,
    organization: Organization,
    name: str,
    scopes: list[str] | None = None,
    expires_at: datetime | None = None,
    created_by: User | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its full text, which nobody can read again (decision 11)."""
    text = new_key()
    key = ApiKey.objects.create(
        organization=organization,
        key_id=text.key_id,
        secret_hash=text.secret_hash,
        name=name,
        scopes=list(Scope.values) if scopes is None else scopes,
        expires_at=expires_at,
        created_by=created_by,
    )
    return key, text.text


@transaction.atomic
def rotate_key(*, key: ApiKey, overlap: str, created_by: User | None = None) -> tuple[ApiKey, str]:
    """A second key like this one; this one ends after the overlap (now, 1h, 24h, 7d)."""
    key = ApiKey.objects.of(key.organization).select_for_update().get(pk=key.pk)
    if not key.is_live:
        raise Conflict
    end = now() + OVERLAPS[overlap]
    key.expires_at = min(filter(None, [key.expires_at, end]))
    key.save(update_fields=["expires_at"])
    return issue_key(organization=key.organization, name=key.name, scopes=key.scopes, created_by=created_by)


def revoke_key(*, key: ApiKey) -> None:
    """Refuse the key from the next request on; safe to repeat."""
    ApiKey.objects.of(key.organization).filter(pk=key.pk, revoked_at=None).update(revoked_at=now())


def touch_last_used(key: ApiKey) -> None:
    """Remember that the key is used; of simultaneous requests one writes, and none waits for it."""
    before = Q(last_used_at=key.last_used_at)
    ApiKey.objects.of(key.organization).filter(before, pk=key.pk).update(last_used_at=now())


@transaction.atomic
def add_member(*, organization: Organization, user: User, role: str = Role.CLOSER) -> Membership:
    """Make someone a member who can sign in; one who was, is again. The last active owner stays one."""
    known = Membership.objects.of(organization).filter(user=user).first()
    if known:
        ensure_active_owner(known, role=role, is_active=True)
    member, _ = Membership.objects.of(organization).update_or_create(
        organization=organization, user=user, defaults={"role": role, "is_active": True}
    )
    if not user.is_staff:
        user.is_staff = True
        user.save(update_fields=["is_staff"])
    return member


@transaction.atomic
def change_member(*, member: Membership, role: str, is_active: bool, wants_mail: bool) -> Membership:
    """Change what a member is; the last active owner stays one."""
    ensure_active_owner(member, role=role, is_active=is_active)
    member.role, member.is_active, member.wants_mail = role, is_active, wants_mail
    member.save(update_fields=["role", "is_active", "wants_mail"])
    return member


def ensure_active_owner(member: Membership, *, role: str, is_active: bool) -> None:
    """Refuse what would leave the organization without an active owner. Call it in the transaction that changes the member."""
    if role == Role.OWNER and is_active:
        return
    owners = Membership.objects.of(member.organization).filter(role=Role.OWNER, is_active=True)
    is_able = {
        owner.pk: owner.user.is_active
        for owner in owners.select_related("user").select_for_update(of=["self"]).order_by("pk")
    }
    if is_able.pop(member.pk, None) is not None and not any(is_able.values()):
        raise LastOwner(name=member)


@transaction.atomic
def invite_member(
    *, organization: Organization, email: str, role: str, first_name: str = "", last_name: str = ""
) -> Membership:
    """Make the person of this e-mail a member (staff); who is not known yet gets an account that has no password."""
    Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
    if Membership.objects.of(organization).filter(user__email__iexact=email.strip(), is_active=True).exists():
        raise ValidationFailed({"email": ["belongs to a member already"]})
    with bypass_rls():  # who works elsewhere has an account already
        user = User.objects.filter(email__iexact=email.strip()).first()
    return add_member(
        organization=organization,
        user=user or User.objects.create_user(email, first_name=first_name, last_name=last_name),
        role=role,
    )


@transaction.atomic
def change_organization(*, organization: Organization, **facts: Any) -> Organization:
    """Change what an organization is: name, country, and (operators) limit and whether it is active."""
    for name, value in facts.items():
        setattr(organization, name, value)
    organization.save(update_fields=[*facts])
    return organization


@transaction.atomic
def save_user(*, user: User, changed: list[str]) -> User:
    """Store what was changed of a person: by themselves, or by an operator."""
    user.save(update_fields=changed)
    return user
