"""An appointment of Hana (host) and Sam (setter) with Ada, and clients of both and of the manager Mia."""

import pytest
from django.test import Client

from appointments.models import Appointment
from organizations.models import MemberRole, Membership, Organization
from tests.client import ApiClient
from tests.factories import make_member
from tests.staff.pages import logged_in_client


@pytest.fixture
def sam(organization: Organization) -> Membership:
    return make_member(organization, "sam@acme.example", role=MemberRole.SETTER, first_name="Sam")


@pytest.fixture
def mia(organization: Organization) -> Client:
    member = make_member(organization, "mia@acme.example", role=MemberRole.MANAGER, first_name="Mia")
    return logged_in_client(member)


@pytest.fixture
def viewer(organization: Organization) -> Client:
    return logged_in_client(make_member(organization, "vera@acme.example", role=MemberRole.VIEWER))


@pytest.fixture
def appointment(api: ApiClient, host: Membership, sam: Membership) -> Appointment:
    """Ada's appointment on 5 January 2027, 10:00 UTC."""
    people = {"host_email": host.user.email, "setter_email": sam.user.email}
    booked = api.book(lead_first_name="Ada", lead_last_name="Lovelace", lead_phone="+14155552671", **people)
    appointment: Appointment = Appointment.unscoped.get(pk=booked.json()["data"]["id"])
    return appointment
