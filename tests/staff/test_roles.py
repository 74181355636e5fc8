"""Permissions of each role in the admin."""

import re
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from uuid import UUID, uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from appointments.models import Appointment, CallAnalysis, EventType, Note
from leads.imports.models import Import
from leads.models import CustomField, Lead, LeadNote, PossibleDuplicate, Source
from notifications.models import LeadMessage, Notification
from optins.models import OptIn
from organizations.models import ApiKey, Invitation, MemberRole, Membership, Organization, SecurityEvent
from organizations.services import add_member
from statuses.models import Status
from tests.factories import make_member, make_organization, owner_of, snapshot_of
from tests.staff.forms import form_data
from tests.staff.pages import MODEL_ADMINS, admin_url, form_errors, list_url, logged_in_client
from webhooks.models import Delivery, Endpoint, Event

ALL_ROLES = set(MemberRole)
BACK_OFFICE = {MemberRole.OWNER, MemberRole.MANAGER, MemberRole.SALES_OPS}
OWNERS_AND_MANAGERS = {MemberRole.OWNER, MemberRole.MANAGER}
WORKERS = set(MemberRole) - {MemberRole.VIEWER}
NO_ROLES: set[MemberRole] = set()

# Model: the roles that may view its list, add rows, and change a row that is a colleague's.
PERMISSIONS = {
    Appointment: (ALL_ROLES, WORKERS, BACK_OFFICE),
    Lead: (ALL_ROLES, WORKERS, BACK_OFFICE),
    CallAnalysis: (ALL_ROLES, WORKERS, BACK_OFFICE),
    Note: (ALL_ROLES, NO_ROLES, OWNERS_AND_MANAGERS),
    LeadNote: (ALL_ROLES, NO_ROLES, OWNERS_AND_MANAGERS),
    OptIn: (ALL_ROLES, NO_ROLES, NO_ROLES),
    Source: (ALL_ROLES, NO_ROLES, BACK_OFFICE),
    Event: (BACK_OFFICE, NO_ROLES, NO_ROLES),
    Notification: (BACK_OFFICE, NO_ROLES, NO_ROLES),
    Status: (BACK_OFFICE, BACK_OFFICE, BACK_OFFICE),
    LeadMessage: (BACK_OFFICE, BACK_OFFICE, BACK_OFFICE),
    EventType: (BACK_OFFICE, BACK_OFFICE, BACK_OFFICE),
    CustomField: (BACK_OFFICE, BACK_OFFICE, BACK_OFFICE),
    ApiKey: (BACK_OFFICE, BACK_OFFICE, BACK_OFFICE),
    Endpoint: (BACK_OFFICE, BACK_OFFICE, BACK_OFFICE),
    Delivery: (BACK_OFFICE, NO_ROLES, BACK_OFFICE),
    Membership: (ALL_ROLES, NO_ROLES, OWNERS_AND_MANAGERS),
    Invitation: (OWNERS_AND_MANAGERS, OWNERS_AND_MANAGERS, NO_ROLES),
    Organization: (OWNERS_AND_MANAGERS, NO_ROLES, {MemberRole.OWNER}),
    SecurityEvent: (ALL_ROLES, NO_ROLES, NO_ROLES),
    Import: (BACK_OFFICE, BACK_OFFICE, BACK_OFFICE),
    PossibleDuplicate: (ALL_ROLES, NO_ROLES, ALL_ROLES),  # its page only leads to the comparison
}


@pytest.fixture
def appointment(shared_appointment: UUID, db: None) -> Appointment:
    return Appointment.unscoped.get(pk=shared_appointment)


@pytest.fixture
def organization(appointment: Appointment) -> Organization:
    return appointment.organization


def test_the_table_contains_every_page():
    assert {page.model for page in MODEL_ADMINS} - set(PERMISSIONS) == {
        Membership._meta.get_field("user").related_model
    }


def row_of(model: type, organization: Organization) -> Any:
    """Return a row of the model that belongs to the organization."""
    if model is Organization:
        return organization
    rows = model.objects.filter(organization=organization) if model is SecurityEvent else model.objects.of(organization)
    return rows.order_by("pk").last()


@pytest.mark.parametrize("role", list(MemberRole))
@pytest.mark.parametrize("model", PERMISSIONS, ids=lambda model: model.__name__)
def test_a_role_may_view_add_and_change_what_the_table_says(model: type, role: MemberRole, appointment: Appointment):
    organization = appointment.organization
    row = row_of(model, organization)
    client = logged_in_client(make_member(organization, "someone@acme.example", role=role))
    may_view, may_add, may_change = PERMISSIONS[model]

    viewed, added, changed = (
        client.get(admin_url(model, "changelist")),
        client.get(admin_url(model, "add")),
        client.post(admin_url(model, "change", row.pk)),
    )

    assert viewed.status_code == (200 if role in may_view else 403)
    assert added.status_code == (200 if role in may_add else 403)
    # A row that the user may not view redirects to the dashboard, like one that does not exist.
    is_refused = changed.status_code in (403, 404) or getattr(changed, "url", "") == "/admin/"
    assert is_refused == (role not in may_change)


def test_the_menu_shows_only_pages_that_the_role_may_view(closer: Client, owner: Client, appointment: Appointment):
    menus = [client.get("/admin/").content.decode() for client in (closer, owner)]

    assert ["API keys" in menu for menu in menus] == [False, True]
    assert ["Leads" in menu for menu in menus] == [True, True]


def test_a_deactivated_member_loses_access_immediately(closer: Client, host: Membership):
    before = closer.get("/admin/").status_code

    Membership.objects.of(host.organization).filter(pk=host.pk).update(is_active=False)

    assert (before, closer.get("/admin/").status_code, closer.get(admin_url(Lead, "changelist")).status_code) == (
        200,
        302,
        302,
    )


def test_members_of_an_inactive_organization_lose_access_immediately(owner: Client, organization: Organization):
    Organization.objects.filter(pk=organization.pk).update(is_active=False)

    assert owner.get(admin_url(Lead, "changelist")).status_code == 302


def test_a_superuser_sees_every_organization(
    operator: Client, appointment: Appointment, other_appointment: Appointment
):
    rows = operator.get(list_url(Lead)).context["cl"].result_list

    assert {row.organization_id for row in rows} == {appointment.organization_id, other_appointment.organization_id}


def test_a_member_of_two_organizations_has_a_role_in_each(appointment: Appointment, other_appointment: Appointment):
    member = make_member(appointment.organization, "two@example.com", role=MemberRole.OWNER)
    add_member(organization=other_appointment.organization, user=member.user, role=MemberRole.SETTER)
    client = logged_in_client(member)

    keys, leads = client.get(admin_url(ApiKey, "changelist")), client.get(list_url(Lead))
    other_key = client.get(admin_url(ApiKey, "change", ApiKey.objects.of(other_appointment.organization).first().pk))

    assert {key.organization for key in keys.context["cl"].result_list} == {appointment.organization}
    assert {lead.organization for lead in leads.context["cl"].result_list} == {
        appointment.organization,
        other_appointment.organization,
    }
    assert other_key.status_code == 302


def test_a_member_of_two_organizations_chooses_one_before_adding_a_row(
    appointment: Appointment, other_appointment: Appointment
):
    member = make_member(appointment.organization, "two@example.com", role=MemberRole.OWNER)
    add_member(organization=other_appointment.organization, user=member.user, role=MemberRole.OWNER)
    client, url = logged_in_client(member), f"{admin_url(Lead, 'add')}?organization={other_appointment.organization_id}"

    choice = client.get(admin_url(Lead, "add")).content.decode()
    filtered = client.get(f"{list_url(Lead)}&phone=any&organization__id__exact={other_appointment.organization_id}")
    links = [
        re.search(f'href="([^"]*{path}[^"]*)"', filtered.content.decode()) for path in ("lead/add/", "import/add/")
    ]
    forms = [client.get(unescape(link[1])).context["form"] for link in links if link]
    (filters,) = parse_qs(urlsplit(unescape(links[1][1])).query)["_changelist_filters"] if links[1] else [""]
    back = client.get(f"{admin_url(Import, 'changelist')}?{filters}")
    rejected = client.post(url, form_data(client, url, email="new@example.com", setter=appointment.host_id))
    created = client.post(url, form_data(client, url, email="new@example.com"))

    assert "For which organization?" in choice
    assert back.status_code == 200  # the arrow on the page of the import leads there
    assert [form["organization"].value() for form in forms] == [str(other_appointment.organization_id)] * 2
    assert any("Select a valid choice" in message for message in form_errors(rejected))
    assert created.status_code == 302
    assert Lead.objects.of(other_appointment.organization).filter(email="new@example.com").exists()


@pytest.mark.parametrize(
    "query", ["organization__id__exact={}", "layout=board&organization__id__exact={}", "layout=board"]
)
@pytest.mark.parametrize("path", ["lead/add/", "import/add/"])
def test_from_the_list_of_an_organization_that_one_only_sees_nothing_is_added_to_another_one_unasked(
    appointment: Appointment, other_appointment: Appointment, path: str, query: str
):
    """The board shows the first organization by name, if the address names none."""
    Organization.objects.filter(pk=other_appointment.organization_id).update(name="Aardvark")
    other_appointment.organization.refresh_from_db()
    member = make_member(appointment.organization, "two@example.com", role=MemberRole.OWNER)
    add_member(organization=other_appointment.organization, user=member.user, role=MemberRole.VIEWER)
    client = logged_in_client(member)

    filtered = client.get(f"{list_url(Lead)}&{query.format(other_appointment.organization_id)}", follow=True)
    [link] = re.findall(f'href="([^"]*{path}[^"]*)"', filtered.content.decode())[:1]
    page = client.get(unescape(link)).content.decode()

    assert "For which organization?" in page
    assert other_appointment.organization.name not in page


@pytest.mark.parametrize("named", ["another", "unknown", "not writable", "empty", "malformed", "name"])
@pytest.mark.parametrize("memberships", [1, 2])
def test_an_organization_in_the_url_that_one_may_not_add_to_is_404_and_never_replaced(
    appointment: Appointment, other_appointment: Appointment, memberships: int, named: str
) -> None:
    third = make_organization("Initech")
    member = make_member(appointment.organization, "two@example.com", role=MemberRole.OWNER)
    if memberships == 2:
        add_member(organization=third, user=member.user, role=MemberRole.OWNER)
    read_only = make_organization("Umbrella")
    add_member(organization=read_only, user=member.user, role=MemberRole.SETTER)
    values = {
        "another": other_appointment.organization_id,
        "unknown": uuid4(),
        "not writable": read_only.pk,
        "empty": "",
        "malformed": f"{appointment.organization_id} ",
        "name": appointment.organization.name,
    }
    client, url = logged_in_client(member), admin_url(EventType, "add")
    data = form_data(client, f"{url}?organization={appointment.organization_id}", name="Hijacked")
    organizations = (appointment.organization, other_appointment.organization, third, read_only)
    before = [snapshot_of(organization) for organization in organizations]

    query = urlencode({"organization": values[named]})
    responses = [client.get(f"{url}?{query}"), client.post(f"{url}?{query}", data)]

    assert [response.status_code for response in responses] == [404, 404]
    assert [snapshot_of(organization) for organization in organizations] == before


def test_the_only_organization_may_be_named_in_the_url(owner: Client, appointment: Appointment) -> None:
    url = f"{admin_url(Lead, 'add')}?organization={appointment.organization_id}"

    response = owner.post(url, form_data(owner, url, email="new@example.com"))

    assert response.status_code == 302
    assert Lead.objects.of(appointment.organization).filter(email="new@example.com").exists()


def test_an_action_is_in_the_history_of_the_row(owner: Client, appointment: Appointment):
    owner.post(admin_url(Appointment, "cancel", appointment.pk), {"notes": "a private reason"})

    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.user, entry.get_change_message()) == (
        str(appointment.pk),
        owner_of(appointment.organization).user,
        "Cancel the appointment.",
    )
    assert b"Cancel the appointment." in owner.get(admin_url(Appointment, "history", appointment.pk)).content
