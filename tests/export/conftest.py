"""Fixtures: sample data, and clients logged in with several roles."""

import pytest
from django.test import Client

from appointments.models import Appointment
from organizations.models import MemberRole, Organization
from tests.factories import make_member
from tests.staff.pages import logged_in_client
from tests.staff.sample_data import create_sample_data


@pytest.fixture
def appointment(organization: Organization) -> Appointment:
    """An appointment of Acme, which has sample data for every model."""
    return create_sample_data(organization, "ours")


@pytest.fixture
def client_with(organization: Organization):
    """Return a function that makes a client logged in as a new member of Acme with the role."""

    def make(role: MemberRole, **user_fields: str) -> Client:
        return logged_in_client(make_member(organization, f"new-{role.lower()}@acme.example", role=role, **user_fields))

    return make


@pytest.fixture
def manager(client_with) -> Client:
    """A client logged in as Acme's manager, who is in New York."""
    return client_with(MemberRole.MANAGER, time_zone="America/New_York")
