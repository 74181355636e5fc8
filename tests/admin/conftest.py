"""Fixtures for the admin: sample data of two organizations, and clients logged in with each role."""

import pytest
from django.test import Client

from appointments.models import Appointment
from organizations.models import MemberRole, Membership, Organization, User
from tests.admin.pages import logged_in_client
from tests.admin.sample_data import create_sample_data
from tests.factories import make_member, owner_of


@pytest.fixture
def appointment(organization: Organization) -> Appointment:
    """An appointment of Acme, which has sample data for every model."""
    return create_sample_data(organization, "ours")


@pytest.fixture
def other_appointment(other_organization: Organization) -> Appointment:
    """An appointment of Globex, which has sample data for every model."""
    return create_sample_data(other_organization, "zyxwv")


@pytest.fixture
def owner(organization: Organization) -> Client:
    """A client logged in as Acme's owner."""
    return logged_in_client(owner_of(organization))


@pytest.fixture
def manager_member(organization: Organization) -> Membership:
    """The membership of Acme's manager."""
    return make_member(organization, "mia@acme.example", role=MemberRole.MANAGER, first_name="Mia")


@pytest.fixture
def manager(manager_member: Membership) -> Client:
    """A client logged in as Acme's manager."""
    return logged_in_client(manager_member)


@pytest.fixture
def closer(host: Membership) -> Client:
    """A client logged in as Hana, a closer of Acme."""
    return logged_in_client(host)


@pytest.fixture
def operator(db: None) -> Client:
    """A client logged in as a superuser."""
    client = Client()
    client.force_login(User.objects.create_superuser("root@example.com", "secret-of-tests"))
    return client
