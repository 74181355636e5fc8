"""Creates an organization with everything it needs to start: statuses, which build on `organizations`, and an owner."""

from uuid import UUID

from django.db import transaction
from uuid_utils.compat import uuid7

from accounts.invitations import invite
from organizations.models import Invitation, MemberRole, Organization, User
from organizations.services import add_member
from statuses.services import seed_defaults


@transaction.atomic
def create_organization(
    *, name: str, owner: User | None = None, time_zone: str = "UTC", is_test: bool = False, id: UUID | None = None
) -> Organization:
    """Create an organization with its default statuses and its owner, if one is given, who must have agreed."""
    organization = Organization.objects.create(id=id or uuid7(), name=name, time_zone=time_zone, is_test=is_test)
    if owner is not None:
        add_member(organization=organization, user=owner, role=MemberRole.OWNER)
    seed_defaults(organization=organization)
    return organization


@transaction.atomic
def create_organization_for(
    *, name: str, owner_email: str, time_zone: str = "UTC", is_test: bool = False, id: UUID | None = None
) -> Invitation:
    organization = create_organization(name=name, time_zone=time_zone, is_test=is_test, id=id)
    return invite(organization=organization, email=owner_email, role=MemberRole.OWNER, invited_by=None)
