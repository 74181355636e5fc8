"""Members: invited, given roles, sent away; and people's own pages."""

import re

import pytest
from django.test import Client

from organizations.models import Membership, Organization, Role, User
from organizations.services import add_member
from tests.admin.forms import form_data
from tests.admin.pages import admin_url, form_errors, logged_in_client
from tests.factories import make_member, owner_of


def invited(client: Client, **fields: str):
    return client.post(
        admin_url(Membership, "add"),
        form_data(client, admin_url(Membership, "add"), **{"email": "new@acme.example", "role": "SETTER", **fields}),
    )


def saved(client: Client, member: Membership, **changes: str):
    address = admin_url(Membership, "change", member.pk)
    return client.post(address, form_data(client, address, **changes))


def link_in(answer) -> str:
    return re.search(r"http://testserver(/admin/set-password/[^<\s]+)", answer.content.decode())[1]


def test_a_new_person_is_invited_and_chooses_a_password_once(owner: Client, organization: Organization):
    answer = invited(owner, first_name="Nina", last_name="New")
    link = link_in(answer)
    visitor = Client()
    page = visitor.get(link, follow=True)
    password = "correct horse battery"
    visitor.post(page.request["PATH_INFO"], {"new_password1": password, "new_password2": password})
    again = Client().get(link, follow=True)

    member = Membership.objects.of(organization).get(user__email="new@acme.example")
    assert (member.role, str(member), "no-store" in answer.headers["Cache-Control"]) == ("SETTER", "Nina New", True)
    assert Client().login(username="new@acme.example", password=password)
    assert b"This link has already been used or has expired" in again.content


def test_who_has_an_account_keeps_it(owner: Client, organization: Organization, other_organization: Organization):
    answer = invited(owner, email="OWNER@globex.example")

    assert answer.status_code == 302, form_errors(answer)
    member = Membership.objects.of(organization).get(user__email="owner@globex.example")
    assert (member.role, owner_of(other_organization).role) == ("SETTER", "OWNER")


def test_a_member_is_invited_once(owner: Client, organization: Organization):
    answer = invited(owner, email="owner@acme.example", role="SETTER")

    assert form_errors(answer) == ["Belongs to a member already"]
    assert owner_of(organization).is_active


def test_the_last_owner_stays(owner: Client, organization: Organization):
    last = owner_of(organization)

    demoted, sent_away = saved(owner, last, role="SETTER"), saved(owner, last, is_active="")

    for answer in (demoted, sent_away):
        assert any("is the last active owner" in sentence for sentence in form_errors(answer))
    last.refresh_from_db()
    assert (last.role, last.is_active) == ("OWNER", True)


def test_an_owner_makes_another_and_may_then_step_down(owner: Client, host: Membership):
    made = saved(owner, host, role="OWNER")
    stepped = saved(owner, Membership.objects.of(host.organization).exclude(pk=host.pk).get(), role="SETTER")

    assert (made.status_code, stepped.status_code) == (302, 302)
    host.refresh_from_db()
    assert host.role == "OWNER"


def test_a_manager_makes_no_owners_and_changes_none(manager: Client, manager_member: Membership, host: Membership):
    own = saved(manager, manager_member, role="OWNER")
    other = saved(manager, host, role="OWNER")
    above = manager.post(admin_url(Membership, "change", owner_of(host.organization).pk), {"role": "SETTER"})
    link = manager.post(admin_url(Membership, "make_password_link", owner_of(host.organization).pk), {})
    made = invited(manager, role="OWNER")

    assert (above.status_code, link.status_code) == (403, 403)
    for answer in (own, other, made):
        assert any("Select a valid choice" in sentence for sentence in form_errors(answer))
    assert [member.user.email for member in Membership.objects.of(host.organization).filter(role="OWNER")] == [
        "owner@acme.example"
    ]


def test_a_link_is_made_for_who_is_in_no_other_organization(
    owner: Client, host: Membership, other_organization: Organization
):
    alone = owner.post(admin_url(Membership, "make_password_link", host.pk), {})
    add_member(organization=other_organization, user=host.user, role=Role.SETTER)
    shared = owner.post(admin_url(Membership, "make_password_link", host.pk), {})

    assert alone.status_code == 200
    assert link_in(alone)
    assert shared.status_code == 302


def test_an_operator_who_is_a_member_gets_no_link_from_owners(owner: Client, organization: Organization):
    boss = add_member(
        organization=organization, user=User.objects.create_superuser("root@example.com", "x"), role=Role.SETTER
    )

    answer = owner.post(admin_url(Membership, "make_password_link", boss.pk), {})

    assert answer.status_code == 302


def test_people_change_their_own_page_but_no_access(closer: Client, host: Membership):
    address = admin_url(User, "change", host.user_id)
    data = form_data(
        closer, address, time_zone="Europe/Berlin", is_superuser="on", is_staff="on", email="evil@example.com"
    )

    answer = closer.post(address, data)

    assert answer.status_code == 302, form_errors(answer)
    host.user.refresh_from_db()
    assert (host.user.time_zone, host.user.is_superuser, host.user.email) == (
        "Europe/Berlin",
        False,
        "hana@acme.example",
    )


def test_an_id_that_looks_like_an_escape_is_found(organization: Organization):
    member = make_member(organization, "esc@acme.example", id="user_5Fabc")
    client = logged_in_client(member)

    links = re.findall(r'href="(/admin/organizations/user/[^"]+)"', client.get("/admin/").content.decode())

    assert client.get(links[0]).status_code == 200


@pytest.mark.parametrize("view", ["change", "history", "make_password_link"])
def test_people_see_nobody_elses_page(view: str, owner: Client, host: Membership):
    assert owner.get(admin_url(User, view, host.user_id)).status_code == 302


def test_people_make_no_links_for_themselves(closer: Client, host: Membership):
    assert closer.post(admin_url(User, "make_password_link", host.user_id), {}).status_code == 403


def test_an_operator_keeps_their_own_access(operator: Client):
    root = User.objects.get(email="root@example.com")
    address = admin_url(User, "change", root.pk)

    operator.post(address, form_data(operator, address, is_superuser="", is_active=""))

    root.refresh_from_db()
    assert (root.is_superuser, root.is_active) == (True, True)


def test_an_operator_opens_an_organization_with_its_owner(operator: Client):
    data = form_data(operator, admin_url(Organization, "add"), name="Initech", owner_email="bill@initech.example")

    answer = operator.post(admin_url(Organization, "add"), data)

    assert link_in(answer)
    assert owner_of(Organization.objects.get(name="Initech")).user.email == "bill@initech.example"


def test_an_owner_renames_the_organization_but_sets_no_limits(owner: Client, organization: Organization):
    address = admin_url(Organization, "change", organization.pk)

    owner.post(address, form_data(owner, address, name="Acme Corp", rate_limit_per_minute="99999", is_active=""))

    organization.refresh_from_db()
    assert (organization.name, organization.rate_limit_per_minute, organization.is_active) == ("Acme Corp", None, True)


def test_a_stranger_is_no_member_to_choose(owner: Client, organization: Organization, other_organization: Organization):
    theirs = make_member(other_organization, "zoe@globex.example")

    assert owner.post(admin_url(Membership, "change", theirs.pk), {"role": "SETTER"}).status_code == 302
    theirs.refresh_from_db()
    assert theirs.role == "CLOSER"


def test_members_choose_their_own_mails_and_nothing_else(closer: Client, host: Membership):
    address = admin_url(Membership, "change", host.pk)
    closer.post(address, {**form_data(closer, address), "wants_mail": "", "role": "OWNER", "is_active": ""})
    closer.post(admin_url(Membership, "email_notifications", host.pk), {"kinds": ["CALL_CANCELED"]})

    host.refresh_from_db()
    assert (host.role, host.is_active, host.wants_mail) == ("CLOSER", True, False)
    assert "CALL_CANCELED" not in host.mail_preference.muted
    assert "CALL_BOOKED" in host.mail_preference.muted
    assert closer.post(admin_url(Membership, "make_password_link", host.pk), {}).status_code == 403


def test_members_see_only_their_own_row_of_the_team(closer: Client, host: Membership):
    rows = closer.get(admin_url(Membership, "changelist")).context["cl"].result_list
    owners = owner_of(host.organization)

    assert list(rows) == [host]
    assert closer.get(admin_url(Membership, "change", owners.pk)).status_code == 302
    assert closer.post(admin_url(Membership, "email_notifications", owners.pk), {"kinds": []}).status_code == 302


def test_slack_is_connected_and_its_address_never_shown(owner: Client, organization: Organization):
    refused = owner.post(admin_url(Organization, "connect_slack", organization.pk), {"url": "https://127.0.0.1/hook"})
    owner.post(
        admin_url(Organization, "connect_slack", organization.pk), {"url": "https://hooks.slack.example/T0/secret"}
    )

    organization.refresh_from_db()
    assert form_errors(refused) == ["Enter a public https URL."]
    assert organization.slack_url == "https://hooks.slack.example/T0/secret"
    pages = [
        owner.get(admin_url(Organization, view, organization.pk)).content
        for view in ("change", "history", "connect_slack")
    ]
    assert [page for page in pages if b"hooks.slack" in page] == []
