"""manage.py create_organization."""

import io
import sys
import uuid
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.test import Client, override_settings

from foundation.db.timestamps import now
from organizations.models import Invitation, Membership, Organization, User
from statuses.models import Status
from tests.accounts import accept, deliver_mail, links_mailed_to
from tests.commands.runner import command_error, run
from tests.factories import owner_of
from tests.staff.pages import logged_in_client

OWNER = ["--owner-email", "peter@initech.example"]


@pytest.fixture
def password_on_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse battery\n"))


def get_organization(out: str) -> Organization:
    """Return the organization whose id a command has printed."""
    return Organization.objects.get(pk=uuid.UUID(out.strip()))


def test_only_the_id_is_printed_on_standard_output_and_the_rest_on_standard_error(db: None) -> None:
    output = run("create_organization", "Initech", *OWNER)

    organization = get_organization(output.out)
    assert output.out == f"{organization.pk}\n"
    assert output.err.splitlines() == [
        "Initech was created; peter@initech.example gets an invitation by e-mail to be its owner.",
        "If no e-mail arrives, print the link: manage.py reset_link peter@initech.example",
        f"For an integration: manage.py create_api_key {organization.pk} --name NAME",
    ]


@override_settings(LOCAL_RUN=True)
def test_beside_make_run_the_printed_commands_can_be_pasted(db: None) -> None:
    output = run("create_organization", "Initech", *OWNER)

    organization = get_organization(output.out)
    assert [line.partition(": ")[2] for line in output.err.splitlines()[1:]] == [
        ".venv/bin/python manage.py reset_link peter@initech.example",
        f".venv/bin/python manage.py create_api_key {organization.pk} --name NAME",
    ]


def test_the_organization_has_ten_statuses_and_its_owner_joins_by_the_mailed_link(db: None) -> None:
    organization = get_organization(run("create_organization", "Initech", *OWNER).out)
    before = User.objects.count()

    deliver_mail(organization)
    accept(Client(), links_mailed_to("peter@initech.example")[0])

    member = Membership.objects.of(organization).get()
    assert before == 0
    assert (member.role, member.user.email, member.user.is_superuser) == ("OWNER", "peter@initech.example", False)
    assert Status.objects.of(organization).count() == 10


def test_the_owner_can_join_by_a_printed_link(db: None) -> None:
    output = run("create_organization", "Initech", *OWNER, "--print-link")
    link = output.err.splitlines()[1].split(": ")[1]

    accept(Client(), urlsplit(link).path)

    assert link.startswith(f"{settings.BASE_URL}/admin/invitation/")
    assert Membership.objects.of(get_organization(output.out)).get().user.email == "peter@initech.example"


def test_a_new_owner_gets_the_password_from_standard_input(db: None, password_on_stdin: None) -> None:
    output = run("create_organization", "Initech", *OWNER, "--owner-password-stdin")

    assert User.objects.get().check_password("correct horse battery")
    assert Membership.objects.of(get_organization(output.out)).get().role == "OWNER"
    assert not Invitation.objects.of(get_organization(output.out)).exists()


def test_an_owner_who_has_an_account_joins_with_it(organization: Organization) -> None:
    User.objects.update(email_verified_at=now())
    created = get_organization(run("create_organization", "Initech", "--owner-email", "OWNER@acme.example").out)
    deliver_mail(created)

    accept(logged_in_client(owner_of(organization)), links_mailed_to("OWNER@acme.example")[0])

    assert Membership.objects.of(created).get().user == User.objects.get()


def test_a_password_for_an_existing_account_is_refused_and_nothing_is_created(
    organization: Organization, password_on_stdin: None
) -> None:
    owner = ["--owner-email", "owner@acme.example", "--owner-password-stdin"]

    error = command_error("create_organization", "Initech", *owner)

    assert error == "owner@acme.example has an account and keeps its password; leave out --owner-password-stdin"
    assert list(Organization.objects.all()) == [organization]


@pytest.mark.parametrize(
    ("name", "email", "message"),
    [
        ("  ", "peter@initech.example", "The name must not be blank"),
        ("x" * 256, "peter@initech.example", "The name must be at most 255 characters long"),
        ("Initech", "peter", "peter is not a valid e-mail address"),
        ("Initech", " ", "--owner-email must not be blank"),
    ],
)
def test_invalid_arguments_are_refused(db: None, name: str, email: str, message: str) -> None:
    assert command_error("create_organization", name, "--owner-email", email) == message
    assert not Organization.objects.exists()


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        ("", "There is no password on standard input"),
        ("12345678\n", "This password is too common. This password is entirely numeric."),
    ],
)
def test_a_missing_or_weak_password_is_refused_and_nothing_is_created(
    db: None, monkeypatch: pytest.MonkeyPatch, stdin: str, message: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))

    error = command_error("create_organization", "Initech", *OWNER, "--owner-password-stdin")

    assert error == message
    assert not Organization.objects.exists()
