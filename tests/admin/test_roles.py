"""Who may do what: the table of roles, as the pages hold it."""

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from appointments.models import Appointment, CallAnalysis, EventType, Note
from leads.models import CustomField, Lead, Source
from notifications.models import Notification
from optins.models import OptIn
from organizations.models import ApiKey, Membership, Organization, Role
from organizations.services import add_member
from statuses.models import Status
from tests.admin.forms import form_data
from tests.admin.pages import MODEL_ADMINS, admin_url, form_errors, logged_in_client
from tests.admin.sample_data import create_sample_data
from tests.factories import make_member, owner_of, snapshot_of
from webhooks.models import Delivery, Endpoint, Event

EVERYONE = set(Role)
OFFICE = {Role.OWNER, Role.MANAGER, Role.SALES_OPS}
LEADERS = {Role.OWNER, Role.MANAGER}
NOBODY: set[Role] = set()

# Model: who sees its list, who adds, who changes.
RIGHTS = {
    Appointment: (EVERYONE, EVERYONE, EVERYONE),
    Lead: (EVERYONE, EVERYONE, EVERYONE),
    CallAnalysis: (EVERYONE, EVERYONE, EVERYONE),
    Note: (EVERYONE, NOBODY, NOBODY),
    OptIn: (EVERYONE, NOBODY, NOBODY),
    Source: (EVERYONE, NOBODY, NOBODY),
    Event: (EVERYONE, NOBODY, NOBODY),
    Notification: (EVERYONE, NOBODY, NOBODY),
    Status: (OFFICE, OFFICE, OFFICE),
    EventType: (OFFICE, OFFICE, OFFICE),
    CustomField: (OFFICE, OFFICE, OFFICE),
    ApiKey: (OFFICE, OFFICE, OFFICE),
    Endpoint: (OFFICE, OFFICE, OFFICE),
    Delivery: (OFFICE, NOBODY, OFFICE),
    Membership: (EVERYONE, LEADERS, LEADERS),
    Organization: (LEADERS, NOBODY, {Role.OWNER}),
}


def test_the_table_names_every_page():
    assert {page.model for page in MODEL_ADMINS} - set(RIGHTS) == {Membership._meta.get_field("user").related_model}


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("model", RIGHTS, ids=lambda model: model.__name__)
def test_a_role_sees_adds_and_changes_what_the_table_says(model: type, role: Role, ours: Appointment):
    organization = ours.organization
    row = organization if model is Organization else model.objects.of(organization).order_by("pk").last()
    client = logged_in_client(make_member(organization, "someone@acme.example", role=role))
    sees, adds, changes = RIGHTS[model]

    seen, added, changed = (
        client.get(admin_url(model, "changelist")),
        client.get(admin_url(model, "add")),
        client.post(admin_url(model, "change", row.pk)),
    )

    assert seen.status_code == (200 if role in sees else 403)
    assert added.status_code == (200 if role in adds else 403)
    # Who does not see the row is led to the first page, as for a row that is not there.
    is_refused = changed.status_code == 403 or getattr(changed, "url", "") == "/admin/"
    assert is_refused == (role not in changes)


def test_the_menu_has_what_the_role_sees(closer: Client, owner: Client, ours: Appointment):
    menus = [client.get("/admin/").content.decode() for client in (closer, owner)]

    assert ["API keys" in menu for menu in menus] == [False, True]
    assert ["Leads" in menu for menu in menus] == [True, True]


def test_a_member_who_leaves_loses_access_at_once(closer: Client, host: Membership):
    before = closer.get("/admin/").status_code

    Membership.objects.of(host.organization).filter(pk=host.pk).update(is_active=False)

    assert (before, closer.get("/admin/").status_code, closer.get(admin_url(Lead, "changelist")).status_code) == (
        200,
        302,
        302,
    )


def test_members_of_an_inactive_organization_lose_access_at_once(owner: Client, organization: Organization):
    Organization.objects.filter(pk=organization.pk).update(is_active=False)

    assert owner.get(admin_url(Lead, "changelist")).status_code == 302


def test_a_superuser_sees_every_organization(operator: Client, ours: Appointment, theirs: Appointment):
    rows = operator.get(admin_url(Lead, "changelist")).context["cl"].result_list

    assert {row.organization_id for row in rows} == {ours.organization_id, theirs.organization_id}


def test_who_is_in_two_organizations_has_each_ones_role_there(ours: Appointment, theirs: Appointment):
    member = make_member(ours.organization, "two@example.com", role=Role.OWNER)
    add_member(organization=theirs.organization, user=member.user, role=Role.SETTER)
    client = logged_in_client(member)

    keys, leads = client.get(admin_url(ApiKey, "changelist")), client.get(admin_url(Lead, "changelist"))
    foreign = client.get(admin_url(ApiKey, "change", ApiKey.objects.of(theirs.organization).first().pk))

    assert {key.organization for key in keys.context["cl"].result_list} == {ours.organization}
    assert {lead.organization for lead in leads.context["cl"].result_list} == {ours.organization, theirs.organization}
    assert foreign.status_code == 302


def test_who_is_in_two_organizations_chooses_one_before_adding(ours: Appointment, theirs: Appointment):
    member = make_member(ours.organization, "two@example.com", role=Role.OWNER)
    add_member(organization=theirs.organization, user=member.user, role=Role.OWNER)
    client, address = logged_in_client(member), f"{admin_url(Lead, 'add')}?organization={theirs.organization_id}"

    asked = client.get(admin_url(Lead, "add")).content.decode()
    mixed = client.post(address, form_data(client, address, email="new@example.com", setter=ours.host_id))
    made = client.post(address, form_data(client, address, email="new@example.com"))

    assert "For which organization?" in asked
    assert any("Select a valid choice" in sentence for sentence in form_errors(mixed))
    assert made.status_code == 302
    assert Lead.objects.of(theirs.organization).filter(email="new@example.com").exists()


def test_a_foreign_organization_cannot_be_chosen(owner: Client, ours: Appointment, theirs: Appointment):
    address, before = (
        f"{admin_url(Lead, 'add')}?organization={theirs.organization_id}",
        snapshot_of(theirs.organization),
    )

    owner.post(address, form_data(owner, address, email="new@example.com", organization=str(theirs.organization_id)))

    assert snapshot_of(theirs.organization) == before
    assert Lead.objects.of(ours.organization).filter(email="new@example.com").exists()


def test_what_is_done_is_in_the_log_of_the_row(owner: Client, organization: Organization):
    call = create_sample_data(organization, "ours")

    owner.post(admin_url(Appointment, "cancel", call.pk), {"notes": "a private reason"})

    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.user, entry.get_change_message()) == (
        str(call.pk),
        owner_of(organization).user,
        "Cancel the appointment.",
    )
    assert b"Cancel the appointment." in owner.get(admin_url(Appointment, "history", call.pk)).content
