"""Members: invitations, roles and access; and the page of each user."""

import re

import pytest
from django.test import Client

from organizations.models import MemberRole, Membership, Organization, User
from organizations.services import add_member
from tests.admin.forms import form_data
from tests.admin.pages import admin_url, form_errors, logged_in_client
from tests.factories import make_member, owner_of


def invite(client: Client, **fields: str):
    """Invite new@acme.example as a setter, or with other values."""
    return client.post(
        admin_url(Membership, "add"),
        form_data(client, admin_url(Membership, "add"), **{"email": "new@acme.example", "role": "SETTER", **fields}),
    )


def save_member(client: Client, member: Membership, **changes: str):
    """Send the member's form with these changes."""
    url = admin_url(Membership, "change", member.pk)
    return client.post(url, form_data(client, url, **changes))


def password_link_in(response) -> str:
    """Return the path of the password link that the page shows."""
    return re.search(r"http://testserver(/admin/set-password/[^<\s]+)", response.content.decode())[1]


def test_an_invited_user_can_choose_a_password_once(owner: Client, organization: Organization):
    response = invite(owner, first_name="Nina", last_name="New")
    link = password_link_in(response)
    visitor = Client()
    page = visitor.get(link, follow=True)
    password = "correct horse battery"
    visitor.post(page.request["PATH_INFO"], {"new_password1": password, "new_password2": password})
    again = Client().get(link, follow=True)

    member = Membership.objects.of(organization).get(user__email="new@acme.example")
    assert (member.role, str(member), "no-store" in response.headers["Cache-Control"]) == ("SETTER", "Nina New", True)
    assert Client().login(username="new@acme.example", password=password)
    assert b"This link has already been used or has expired" in again.content


def test_an_invited_person_with_an_account_keeps_it(
    owner: Client, organization: Organization, other_organization: Organization
):
    response = invite(owner, email="OWNER@globex.example")

    assert response.status_code == 302, form_errors(response)
    member = Membership.objects.of(organization).get(user__email="owner@globex.example")
    assert (member.role, owner_of(other_organization).role) == ("SETTER", "OWNER")


def test_a_member_cannot_be_invited_again(owner: Client, organization: Organization):
    response = invite(owner, email="owner@acme.example", role="SETTER")

    assert form_errors(response) == ["Already belongs to a member"]
    assert owner_of(organization).is_active


def test_the_last_owner_cannot_be_removed(owner: Client, organization: Organization):
    last = owner_of(organization)

    demoted, deactivated = save_member(owner, last, role="SETTER"), save_member(owner, last, is_active="")

    for response in (demoted, deactivated):
        assert any("is the last active owner" in message for message in form_errors(response))
    last.refresh_from_db()
    assert (last.role, last.is_active) == ("OWNER", True)


def test_an_owner_can_step_down_after_making_someone_else_owner(owner: Client, host: Membership):
    promoted = save_member(owner, host, role="OWNER")
    stepped_down = save_member(owner, Membership.objects.of(host.organization).exclude(pk=host.pk).get(), role="SETTER")

    assert (promoted.status_code, stepped_down.status_code) == (302, 302)
    host.refresh_from_db()
    assert host.role == "OWNER"


def test_a_manager_cannot_make_or_change_owners(manager: Client, manager_member: Membership, host: Membership):
    own = save_member(manager, manager_member, role="OWNER")
    other = save_member(manager, host, role="OWNER")
    above = manager.post(admin_url(Membership, "change", owner_of(host.organization).pk), {"role": "SETTER"})
    link = manager.post(admin_url(Membership, "make_password_link", owner_of(host.organization).pk), {})
    promoted = invite(manager, role="OWNER")

    assert (above.status_code, link.status_code) == (403, 403)
    for response in (own, other, promoted):
        assert any("Select a valid choice" in message for message in form_errors(response))
    assert [member.user.email for member in Membership.objects.of(host.organization).filter(role="OWNER")] == [
        "owner@acme.example"
    ]


def test_a_password_link_is_only_for_members_of_no_other_organization(
    owner: Client, host: Membership, other_organization: Organization
):
    of_one_organization = owner.post(admin_url(Membership, "make_password_link", host.pk), {})
    add_member(organization=other_organization, user=host.user, role=MemberRole.SETTER)
    of_two_organizations = owner.post(admin_url(Membership, "make_password_link", host.pk), {})

    assert of_one_organization.status_code == 200
    assert password_link_in(of_one_organization)
    assert of_two_organizations.status_code == 302


def test_an_owner_cannot_create_a_password_link_for_an_operator(owner: Client, organization: Organization):
    operator = add_member(
        organization=organization, user=User.objects.create_superuser("root@example.com", "x"), role=MemberRole.SETTER
    )

    response = owner.post(admin_url(Membership, "make_password_link", operator.pk), {})

    assert response.status_code == 302


def test_users_can_change_their_profile_but_not_their_access(closer: Client, host: Membership):
    url = admin_url(User, "change", host.user_id)
    data = form_data(closer, url, time_zone="Europe/Berlin", is_superuser="on", is_staff="on", email="evil@example.com")

    response = closer.post(url, data)

    assert response.status_code == 302, form_errors(response)
    host.user.refresh_from_db()
    assert (host.user.time_zone, host.user.is_superuser, host.user.email) == (
        "Europe/Berlin",
        False,
        "hana@acme.example",
    )


def test_a_user_id_that_looks_like_an_escape_sequence_is_found(organization: Organization):
    member = make_member(organization, "esc@acme.example", id="user_5Fabc")
    client = logged_in_client(member)

    links = re.findall(r'href="(/admin/organizations/user/[^"]+)"', client.get("/admin/").content.decode())

    assert client.get(links[0]).status_code == 200


@pytest.mark.parametrize("view", ["change", "history", "make_password_link"])
def test_users_cannot_open_the_page_of_another_user(view: str, owner: Client, host: Membership):
    assert owner.get(admin_url(User, view, host.user_id)).status_code == 302


def test_users_cannot_create_a_password_link_for_themselves(closer: Client, host: Membership):
    assert closer.post(admin_url(User, "make_password_link", host.user_id), {}).status_code == 403


def test_an_operator_cannot_remove_their_own_access(operator: Client):
    root = User.objects.get(email="root@example.com")
    url = admin_url(User, "change", root.pk)

    operator.post(url, form_data(operator, url, is_superuser="", is_active=""))

    root.refresh_from_db()
    assert (root.is_superuser, root.is_active) == (True, True)


def test_an_operator_can_add_an_organization_with_its_owner(operator: Client):
    data = form_data(operator, admin_url(Organization, "add"), name="Initech", owner_email="bill@initech.example")

    response = operator.post(admin_url(Organization, "add"), data)

    assert password_link_in(response)
    assert owner_of(Organization.objects.get(name="Initech")).user.email == "bill@initech.example"


def test_an_owner_can_rename_the_organization_but_not_set_its_limits(owner: Client, organization: Organization):
    url = admin_url(Organization, "change", organization.pk)

    owner.post(url, form_data(owner, url, name="Acme Corp", rate_limit_per_minute="99999", is_active=""))

    organization.refresh_from_db()
    assert (organization.name, organization.rate_limit_per_minute, organization.is_active) == ("Acme Corp", None, True)


def test_a_member_of_another_organization_cannot_be_changed(
    owner: Client, organization: Organization, other_organization: Organization
):
    member = make_member(other_organization, "zoe@globex.example")

    assert owner.post(admin_url(Membership, "change", member.pk), {"role": "SETTER"}).status_code == 302
    member.refresh_from_db()
    assert member.role == "CLOSER"


def test_members_can_choose_their_own_notifications_and_nothing_else(closer: Client, host: Membership):
    url = admin_url(Membership, "change", host.pk)
    closer.post(url, {**form_data(closer, url), "wants_mail": "", "role": "OWNER", "is_active": ""})
    closer.post(admin_url(Membership, "email_notifications", host.pk), {"kinds": ["CALL_CANCELED"]})

    host.refresh_from_db()
    assert (host.role, host.is_active, host.wants_mail) == ("CLOSER", True, False)
    assert "CALL_CANCELED" not in host.mail_preference.muted
    assert "CALL_BOOKED" in host.mail_preference.muted
    assert closer.post(admin_url(Membership, "make_password_link", host.pk), {}).status_code == 403


def test_members_see_only_their_own_membership(closer: Client, host: Membership):
    rows = closer.get(admin_url(Membership, "changelist")).context["cl"].result_list
    owners = owner_of(host.organization)

    assert list(rows) == [host]
    assert closer.get(admin_url(Membership, "change", owners.pk)).status_code == 302
    assert closer.post(admin_url(Membership, "email_notifications", owners.pk), {"kinds": []}).status_code == 302


def test_slack_can_be_connected_and_its_url_is_never_shown(owner: Client, organization: Organization):
    rejected = owner.post(admin_url(Organization, "connect_slack", organization.pk), {"url": "https://127.0.0.1/hook"})
    owner.post(
        admin_url(Organization, "connect_slack", organization.pk), {"url": "https://hooks.slack.example/T0/secret"}
    )

    organization.refresh_from_db()
    assert form_errors(rejected) == ["Enter a public https URL."]
    assert organization.slack_url == "https://hooks.slack.example/T0/secret"
    pages = [
        owner.get(admin_url(Organization, view, organization.pk)).content
        for view in ("change", "history", "connect_slack")
    ]
    assert [page for page in pages if b"hooks.slack" in page] == []
