"""Worlds for tests, made through the services."""

from typing import Any

from organizations.models import Membership, Organization, Role, User
from organizations.services import add_member, issue_key
from pipeline_backend.onboarding import open_organization
from tests.client import Api


def make_organization(name: str = "Acme") -> Organization:
    """An organization with its ten statuses and an owner, owner@<name>.example."""
    return open_organization(name=name, owner_email=f"owner@{name.lower()}.example").organization


def make_member(organization: Organization, email: str, *, role: str = Role.CLOSER, **person: Any) -> Membership:
    """An active member who can sign in with the password `secret-of-tests`."""
    user = User.objects.create_user(email, "secret-of-tests", **person)
    return add_member(organization=organization, user=user, role=role)


def make_api(organization: Organization, **key: Any) -> Api:
    """An integrator with a key of the organization (`scopes`, `expires_at` if wanted)."""
    _, text = issue_key(organization=organization, name="Tests", **key)
    return Api(text)
