"""Fixtures for the pages of records: a lead with something of every kind, and clients of several roles."""

import pytest
from django.test import Client

from appointments.models import Appointment
from leads.models import Lead, NextStep
from organizations.models import MemberRole, Organization
from tests.factories import make_member, owner_of
from tests.staff.pages import logged_in_client
from tests.staff.sample_data import create_sample_data


@pytest.fixture
def appointment(organization: Organization) -> Appointment:
    """An appointment whose lead has an opt-in, notes, notifications and webhooks."""
    appointment = create_sample_data(organization, "ours")
    NextStep.objects.of(organization).delete()  # tests count those that they set
    return appointment


@pytest.fixture
def lead(appointment: Appointment) -> Lead:
    """The lead of the appointment."""
    return appointment.lead


@pytest.fixture
def owner(organization: Organization) -> Client:
    """A client logged in as the owner."""
    return logged_in_client(owner_of(organization))


@pytest.fixture
def viewer(organization: Organization) -> Client:
    """A client logged in as a viewer, who changes nothing."""
    return logged_in_client(make_member(organization, "vera@acme.example", role=MemberRole.VIEWER))


@pytest.fixture
def closer(organization: Organization) -> Client:
    """A client logged in as a closer, who has no lead."""
    return logged_in_client(make_member(organization, "carl@acme.example", role=MemberRole.CLOSER))
