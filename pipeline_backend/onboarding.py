"""Onboarding: creates an organization with everything it needs to start.

It is here and not in `organizations` because it also uses `statuses`, which builds on `organizations`.
"""

from dataclasses import dataclass

from django.db import transaction

from organizations.models import MemberRole, Membership, Organization, User
from organizations.services import add_member
from statuses.services import seed_defaults


@dataclass(frozen=True)
class CreatedOrganization:
    """A new organization and its owner. If `is_new_user`, the owner still needs a password."""

    organization: Organization
    owner: Membership
    is_new_user: bool


@transaction.atomic
def create_organization(*, name: str, owner_email: str) -> CreatedOrganization:
    """Create an organization with its default statuses and its owner.

    If a user with this e-mail exists already, that user becomes the owner and keeps name and password.
    """
    organization = Organization.objects.create(name=name)
    user = User.objects.filter(email__iexact=owner_email.strip()).first()
    is_new = user is None
    owner = add_member(
        organization=organization, user=user or User.objects.create_user(owner_email), role=MemberRole.OWNER
    )
    seed_defaults(organization=organization)
    return CreatedOrganization(organization, owner, is_new)
