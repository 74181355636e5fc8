"""Search in the lists of leads, appointments and opt-ins."""

from collections.abc import Iterator
from typing import NamedTuple
from uuid import UUID

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker

from appointments.models import Appointment
from leads.models import Lead
from leads.search import find_leads
from optins.models import OptIn
from organizations.isolation import row_level_security
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_api, make_organization, owner_of
from tests.shared_rows import clear_caches, shared_rows
from tests.staff.pages import admin_url, logged_in_client

LEADS = {
    "jose": {"first_name": "José María", "last_name": "O'Neill", "phone_e164": "+14155552671", "phone_country": "US"},
    "anna": {"first_name": "Anna-Lena", "last_name": "Łukasz", "phone_e164": "+491711234567", "phone_country": "DE"},
    "olga.p": {"first_name": "Ольга", "last_name": "", "phone_e164": None, "phone_country": None},
}


class SharedLeads(NamedTuple):
    """Acme's and Globex's ids, and those of Acme's leads by name."""

    acme: UUID
    globex: UUID
    leads: dict[str, UUID]


@pytest.fixture(scope="module")
def shared_leads(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[SharedLeads]:
    """Create leads with an opt-in and an appointment each, the same in both organizations, once for these tests."""
    with shared_rows(django_db_blocker):
        acme, globex = make_organization("Acme"), make_organization("Globex")
        for owner in (acme, globex):
            api = make_api(owner)
            for name, values in LEADS.items():
                api.submit(email=f"{name}@mail-{name}.example", external_reference=f"form {name}")
                api.book(lead_email=f"{name}@mail-{name}.example", external_reference=f"CRM/{name}")
                Lead.objects.of(owner).filter(email__startswith=name).update(**values)
        leads = {name: Lead.objects.of(acme).get(email__startswith=name).pk for name in LEADS}
        clear_caches()
        with django_db_blocker.block():
            yield SharedLeads(acme.pk, globex.pk, leads)


@pytest.fixture
def organization(shared_leads: SharedLeads, db: None) -> Organization:
    """Acme, with the leads."""
    return Organization.objects.get(pk=shared_leads.acme)


@pytest.fixture
def other_organization(shared_leads: SharedLeads, db: None) -> Organization:
    """Globex, with leads like Acme's."""
    return Organization.objects.get(pk=shared_leads.globex)


@pytest.fixture
def own_leads(shared_leads: SharedLeads) -> dict[str, UUID]:
    """The ids of Acme's leads by name."""
    return shared_leads.leads


@pytest.fixture
def owner(organization: Organization) -> Client:
    """A client logged in as Acme's owner."""
    return logged_in_client(owner_of(organization))


def found(client: Client, model: type, text: str) -> list[UUID]:
    """Return the ids of the leads whose rows the list finds."""
    rows = client.get(admin_url(model, "changelist"), {"q": text}).context["cl"].result_list
    return [getattr(row, "lead_id", row.pk) for row in rows]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("(415) 555-2671", "jose"),
        ("+1 415 555-2671", "jose"),
        ("0014155552671", "jose"),
        ("2671", "jose"),
        ("+1415", "jose"),
        ("0171 1234567", "anna"),
        ("+49 (0)171 1234567", "anna"),
        ("jose", "jose"),
        ("JOSÉ mar", "jose"),
        ("o'neill", "jose"),
        ("o’neill", "jose"),
        ("mar neil", "jose"),
        ("lena lukasz", "anna"),
        ("ольг", "olga.p"),
        ("JOSE@mail-jose.example", "jose"),
        ("jose@mail", "jose"),
        ("jose m", "jose"),
        ("j mar", "jose"),
        ("@mail-olga", "olga.p"),
        ("olga", "olga.p"),
    ],
)
def test_leads_appointments_and_opt_ins_are_found_by_their_lead(
    text: str, name: str, own_leads: dict[str, UUID], owner: Client
):
    assert [found(owner, model, text) for model in (Lead, Appointment, OptIn)] == [[own_leads[name]]] * 3


@pytest.mark.parametrize(
    "text", ["jose lukasz", "ose", "5552", "@", "'", "\\ & | !", "<:*", "jose@other.example", "a:*"]
)
def test_what_does_not_match_is_not_found(text: str, own_leads: dict[str, UUID], owner: Client):
    assert [found(owner, model, text) for model in (Lead, Appointment, OptIn)] == [[], [], []]


def test_appointments_and_opt_ins_are_found_by_their_reference(own_leads: dict[str, UUID], owner: Client):
    assert found(owner, Appointment, " CRM/anna ") == found(owner, OptIn, "form anna") == [own_leads["anna"]]


def test_an_appointment_is_found_by_a_reference_that_it_had(own_leads: dict[str, UUID], owner: Client, api: ApiClient):
    api.reschedule(external_reference="CRM/anna", new_external_reference="CRM/lena")

    assert found(owner, Appointment, "CRM/anna") == found(owner, Appointment, "CRM/lena") == [own_leads["anna"]]


def test_a_name_is_never_too_long_for_the_index(organization: Organization, owner: Client):
    make_api(organization).submit(email="long@example.com", first_name="ǟ" * 255, last_name="ﷺ漢" * 127)

    assert len(found(owner, Lead, "a" * 100)) == 1


@pytest.mark.parametrize("scope", ["staff", "tenant", "nobody"])
def test_the_function_finds_nothing_outside_of_the_requests_scope(
    scope: str, own_leads: dict[str, UUID], organization: Organization, other_organization: Organization
):
    scopes = {
        "staff": row_level_security.staff_scope([organization.pk]),
        "tenant": row_level_security.tenant_scope(organization.pk),
        "nobody": row_level_security.NO_TENANT,
    }
    token = row_level_security.current_scope.set(scopes[scope])
    try:
        ids = find_leads([organization.pk, other_organization.pk], "jose")
    finally:
        row_level_security.current_scope.reset(token)

    assert ids == ([] if scope == "nobody" else [own_leads["jose"]])
