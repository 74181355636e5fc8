"""Fixtures for the admin: sample data of two organizations, and clients logged in with each role."""

from collections.abc import Iterator
from uuid import UUID

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from appointments.models import Appointment
from organizations.models import MemberRole, Membership, Organization, User
from tests.factories import make_member, make_organization, owner_of
from tests.shared_rows import clear_caches, shared_rows
from tests.staff.pages import logged_in_client
from tests.staff.sample_data import create_sample_data


@pytest.fixture
def appointment(organization: Organization) -> Appointment:
    """An appointment of Acme, which has sample data for every model."""
    return create_sample_data(organization, "ours")


@pytest.fixture
def other_appointment(other_organization: Organization) -> Appointment:
    """An appointment of Globex, which has sample data for every model."""
    return create_sample_data(other_organization, "zyxwv")


@pytest.fixture(scope="module")
def shared_appointment(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[UUID]:
    """Create Acme with sample data for every model, once for the tests of a file; return the appointment's id."""
    with shared_rows(django_db_blocker):
        id = create_sample_data(make_organization("Acme"), "ours").pk
        clear_caches()
        with django_db_blocker.block():
            yield id


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
