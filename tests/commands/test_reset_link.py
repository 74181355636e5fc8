"""manage.py reset_link."""

from urllib.parse import urlsplit

from django.test import Client

from accounts.invitations import invite
from organizations.models import Invitation, MemberRole, Membership, Organization, User
from tests.accounts import PASSWORD, accept, choose_password
from tests.commands.runner import command_error, run


def test_the_link_of_an_account_lets_its_person_choose_a_password_once(host: Membership) -> None:
    output = run("reset_link", "HANA@acme.example")
    link = urlsplit(output.out.strip()).path

    choose_password(link)
    choose_password(link, "another horse battery")

    host.user.refresh_from_db()
    assert host.user.check_password(PASSWORD)


def test_without_an_account_the_links_of_open_invitations_are_printed(
    organization: Organization, other_organization: Organization
) -> None:
    for row in (organization, other_organization):
        invite(organization=row, email="new@acme.example", role=MemberRole.SETTER, invited_by=None)

    links = run("reset_link", "new@acme.example").out.splitlines()

    assert len(links) == 2
    assert accept(Client(), urlsplit(links[0]).path).status_code == 302
    assert Invitation.unscoped.exclude(accepted_at=None).count() == 1


def test_there_is_no_link_for_an_unknown_address_or_a_disabled_account(host: Membership) -> None:
    User.objects.filter(pk=host.user_id).update(is_active=False)

    errors = [command_error("reset_link", email) for email in ("hana@acme.example", "nobody@acme.example")]

    assert errors == [
        "The account of hana@acme.example is disabled",
        "There is neither an account nor an open invitation for nobody@acme.example",
    ]
