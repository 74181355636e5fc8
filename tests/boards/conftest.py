"""Fixtures: clients of members of Acme."""

import pytest
from django.test import Client

from organizations.models import MemberRole, Membership, Organization
from tests.factories import make_member
from tests.staff.pages import logged_in_client


@pytest.fixture
def manager(organization: Organization) -> Client:
    """A client logged in as Acme's manager Mia."""
    return logged_in_client(
        make_member(organization, "mia@acme.example", role=MemberRole.MANAGER, first_name="Mia", last_name="May")
    )


@pytest.fixture
def closer(host: Membership) -> Client:
    """A client logged in as Hana, a closer of Acme."""
    return logged_in_client(host)
