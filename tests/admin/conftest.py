"""Acme and Globex with everything in them, and Acme's people at the admin."""

import pytest
from django.test import Client

from appointments.models import Appointment
from organizations.models import Membership, Organization, Role, User
from tests.admin.pages import logged_in_client
from tests.admin.sample_data import create_sample_data
from tests.factories import make_member, owner_of


@pytest.fixture
def ours(organization: Organization) -> Appointment:
    """A call of Acme, which has one of everything."""
    return create_sample_data(organization, "ours")


@pytest.fixture
def theirs(other_organization: Organization) -> Appointment:
    """A call of Globex, which has one of everything."""
    return create_sample_data(other_organization, "zyxwv")


@pytest.fixture
def owner(organization: Organization) -> Client:
    """Acme's owner."""
    return logged_in_client(owner_of(organization))


@pytest.fixture
def manager_member(organization: Organization) -> Membership:
    """Acme's manager, as a member."""
    return make_member(organization, "mia@acme.example", role=Role.MANAGER, first_name="Mia")


@pytest.fixture
def manager(manager_member: Membership) -> Client:
    """Acme's manager."""
    return logged_in_client(manager_member)


@pytest.fixture
def closer(host: Membership) -> Client:
    """Acme's closer, Hana."""
    return logged_in_client(host)


@pytest.fixture
def operator(db: None) -> Client:
    """A superuser."""
    client = Client()
    client.force_login(User.objects.create_superuser("root@example.com", "secret-of-tests"))
    return client
