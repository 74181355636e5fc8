"""The search over everything (Ctrl-K): leads, appointments and pages, as a page and for the dialog."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from appointments.models import Appointment
from leads.models import Lead
from leads.privacy.erasing import request_erasure
from organizations.actors import SYSTEM
from organizations.models import MemberRole, Membership, Organization
from organizations.services import add_member
from staff.search import MAX_SHOWN
from tests.client import ApiClient
from tests.factories import deactivate, make_api, make_member, owner_of
from tests.staff.pages import admin_url, logged_in_client

SEARCH = "/admin/search/"
EMAIL = "jose@mail-jose.example"


@pytest.fixture
def owner(organization: Organization) -> Client:
    return logged_in_client(owner_of(organization))


@pytest.fixture
def lead(organization: Organization, other_organization: Organization, host: Membership) -> Lead:
    """A lead of Acme with an appointment. Globex has the same."""
    for owner in (other_organization, organization):
        booking = {
            "lead_email": EMAIL,
            "lead_first_name": "José María",
            "lead_last_name": "O'Neill",
            "lead_phone": "+14155552671",
            "external_reference": "CRM/17",
            "schedule_time": "2027-01-08T18:30:00Z",
        }
        make_api(owner).book(**booking, **({"host_email": host.user.email} if owner == organization else {}))
    return Lead.objects.of(organization).get()


def search(client: Client, text: str, **parameters: str) -> dict[str, list[Any]]:
    """Return the results by the name of their group."""
    response = client.get(SEARCH, {"q": text, **parameters})
    assert response.status_code == 200
    return {group.label: group.results for group in response.context["groups"]}


def test_a_lead_and_its_appointment_are_shown_with_what_tells_them_apart(lead: Lead, organization: Organization):
    viewer = make_member(organization, "v@acme.example", role=MemberRole.VIEWER, time_zone="America/New_York")
    response = logged_in_client(viewer).get(SEARCH, {"q": "jose"})
    html, appointment = response.content.decode(), Appointment.objects.of(organization).get()

    found = {group.label: group.results for group in response.context["groups"]}
    assert [result.url for result in found["Leads"]] == [admin_url(Lead, "change", lead.pk)]
    assert [result.url for result in found["Appointments"]] == [admin_url(Appointment, "change", appointment.pk)]
    for text in ("José María O&#x27;Neill", EMAIL, "+14155552671", "Appointment booked", "Fri 8 Jan", "13:30", "Hana"):
        assert text in html
    for model in (Lead, Appointment):
        assert f'href="{admin_url(model, "changelist")}?q=jose"' in html
    assert f'<form class="search-form" action="{SEARCH}"' in html
    assert "Globex" not in html


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("(415) 555-2671", ["Leads", "Appointments"]),
        ("JOSÉ mar", ["Leads", "Appointments"]),
        ("neill", ["Leads", "Appointments"]),
        (EMAIL, ["Leads", "Appointments"]),
        ("@mail-jose", ["Leads", "Appointments"]),
        (" CRM/17 ", ["Appointments"]),
        ("dupl", ["Pages"]),
        ("my acc", ["Pages"]),
        ("ose", []),
        ("jose dupl", []),
        ("' OR 1=1", []),
        ("%_\\ <:*", []),
    ],
)
def test_what_is_found(text: str, groups: list[str], lead: Lead, owner: Client):
    assert list(search(owner, text)) == groups


def test_nothing_of_an_organization_without_a_role_is_found(
    lead: Lead, host: Membership, other_organization: Organization
):
    member = add_member(organization=other_organization, user=host.user, role=MemberRole.VIEWER)
    both = logged_in_client(member)

    assert {result.below[-1] for result in search(both, "jose")["Leads"]} == {"Acme", "Globex"}
    deactivate(member)
    assert [result.url for result in search(both, "jose")["Leads"]] == [admin_url(Lead, "change", lead.pk)]
    deactivate(host)
    assert both.get(SEARCH, {"q": "jose"}).status_code == 302


def test_only_pages_of_ones_own_menu_are_found(owner: Client, host: Membership):
    assert [page.title for page in search(owner, "webhook")["Pages"]] == ["Webhook endpoints"]
    assert search(logged_in_client(host), "webhook") == {}


def test_the_first_of_many_are_shown_and_the_list_has_all(api: ApiClient, organization: Organization, owner: Client):
    for number in range(MAX_SHOWN + 2):
        api.book(
            lead_email=f"anna{number}@example.com",
            external_reference=str(number),
            schedule_time=f"2030-02-{28 - number}T12:00:00Z",
        )

    found = search(owner, "anna")
    assert [len(results) for results in found.values()] == [MAX_SHOWN, MAX_SHOWN]
    assert [result.title for result in found["Leads"]][:2] == ["anna9", "anna8"]
    assert [result.title for result in found["Appointments"]][:2] == ["anna9", "anna8"]


def test_the_number_of_statements_does_not_grow_with_what_is_found(api: ApiClient, owner: Client):
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            search(owner, "anna", dialog="")
        return len(captured)

    counts = []
    for number in range(3):
        api.book(lead_email=f"anna{number}@example.com", external_reference=str(number))
        counts.append(statements())

    assert counts[1] == counts[2] <= counts[0]


@pytest.mark.parametrize("text", ["", " ", "j", "a" * 201, "word " * 11])
def test_a_text_that_is_not_searched_says_why(text: str, lead: Lead, owner: Client):
    response = owner.get(SEARCH, {"q": text})

    assert response.context["groups"] == []
    assert "at least 2 characters" in response.context["answer"] or "at most 10 words" in response.context["answer"]


def test_a_text_with_nul_is_refused(owner: Client):
    assert owner.get(SEARCH, {"q": "jo\0se"}).status_code == 400


def test_nothing_that_is_found_is_stored_and_an_erased_lead_is_not_found(lead: Lead, owner: Client):
    response = owner.get(SEARCH, {"q": "jose", "dialog": ""})
    assert "no-store" in response.headers["Cache-Control"]
    assert len(response.context["groups"]) == 2

    request_erasure(organization=lead.organization, actor=SYSTEM, lead_id=lead.pk)

    for text in ("jose", EMAIL, "+14155552671"):
        assert search(owner, text) == {}


def test_every_page_has_the_dialog_whose_results_are_options(lead: Lead, owner: Client):
    page = owner.get(reverse("admin:sessions")).content.decode()
    part = owner.get(SEARCH, {"q": "jose", "dialog": ""}).content.decode()

    assert 'role="combobox"' in page
    assert f'href="{SEARCH}" aria-label="Search"' in page
    assert part.count('role="option"') == 4
    assert "<html" not in part


def test_whoever_is_not_signed_in_gets_the_sign_in_page():
    assert Client().get(SEARCH, {"q": "jose"}).headers["Location"].startswith("/admin/login/")
