"""Opening an organization: everything a tenant needs on its first day."""

from dataclasses import dataclass

from django.db import transaction

from organizations.models import Membership, Organization, Role, User
from organizations.services import add_member
from statuses.services import seed_defaults


@dataclass(frozen=True)
class CreatedOrganization:
    """A new organization and its owner; `is_new_user` tells whether the owner still needs a password."""

    organization: Organization
    owner: Membership
    is_new_user: bool


@transaction.atomic
def create_organization(*, name: str, owner_email: str) -> CreatedOrganization:
    """An organization with its ten statuses and its owner; someone known by this e-mail keeps their account."""
    organization = Organization.objects.create(name=name)
    user = User.objects.filter(email__iexact=owner_email.strip()).first()
    is_new = user is None
    owner = add_member(organization=organization, user=user or User.objects.create_user(owner_email), role=Role.OWNER)
    seed_defaults(organization=organization)
    return CreatedOrganization(organization, owner, is_new)
