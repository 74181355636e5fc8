"""manage.py create_organization."""

import io
import sys
import uuid

import pytest

from organizations.models import Membership, Organization, User
from statuses.models import Status
from tests.commands.runner import command_error, run

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
        "Initech was created; its owner is peter@initech.example.",
        "The owner has no password yet; set one with: manage.py changepassword peter@initech.example",
        f"For an integration: manage.py create_api_key {organization.pk} --name <what uses it>",
    ]


def test_the_organization_has_ten_statuses_and_an_owner_without_a_password(db: None) -> None:
    organization = get_organization(run("create_organization", "Initech", *OWNER).out)

    member = Membership.objects.of(organization).get()
    assert (member.role, member.user.email, member.user.is_staff) == ("OWNER", "peter@initech.example", True)
    assert (member.user.is_superuser, member.user.has_usable_password()) == (False, False)
    assert Status.objects.of(organization).count() == 10


def test_a_new_owner_gets_the_password_from_standard_input(db: None, password_on_stdin: None) -> None:
    output = run("create_organization", "Initech", *OWNER, "--owner-password-stdin")

    assert User.objects.get().check_password("correct horse battery")
    assert "changepassword" not in output.err


def test_an_owner_who_has_an_account_keeps_it(organization: Organization) -> None:
    output = run("create_organization", "Initech", "--owner-email", "OWNER@acme.example")

    assert Membership.objects.of(get_organization(output.out)).get().user == User.objects.get()
    assert "The owner signs in with their existing account." in output.err


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
