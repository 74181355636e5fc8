"""Acme's manager, who imports."""

import pytest
from django.test import Client

from organizations.models import MemberRole, Organization
from tests.factories import make_member
from tests.staff.pages import logged_in_client


@pytest.fixture
def mia(organization: Organization) -> Client:
    """A client signed in as Mia, a manager of Acme in Berlin."""
    return logged_in_client(
        make_member(
            organization,
            "mia@acme.example",
            role=MemberRole.MANAGER,
            first_name="Mia",
            last_name="Manager",
            time_zone="Europe/Berlin",
        )
    )
