"""manage.py create_organization."""

import io
import sys
import uuid

import pytest

from organizations.models import Membership, Organization, User
from statuses.models import Status
from tests.commands.runner import command_error, run


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("correct horse battery\n"))


def opened(out: str) -> Organization:
    return Organization.objects.get(pk=uuid.UUID(out.strip()))


def test_it_prints_the_id_alone_and_the_rest_on_standard_error(db: None) -> None:
    said = run("create_organization", "Initech", "--owner-email", "peter@initech.example")

    organization = opened(said.out)
    assert said.out == f"{organization.pk}\n"
    assert said.err.splitlines() == [
        "Initech is open; its owner is peter@initech.example.",
        "The owner has no password yet; set one with: manage.py changepassword peter@initech.example",
        f"For an integration: manage.py create_api_key {organization.pk} --name <what uses it>",
    ]


def test_it_has_ten_statuses_and_an_owner_without_a_password(db: None) -> None:
    organization = opened(run("create_organization", "Initech", "--owner-email", "peter@initech.example").out)

    member = Membership.objects.of(organization).get()
    assert (member.role, member.user.email, member.user.is_staff) == ("OWNER", "peter@initech.example", True)
    assert (member.user.is_superuser, member.user.has_usable_password()) == (False, False)
    assert Status.objects.of(organization).count() == 10


def test_a_new_owner_gets_the_password_from_standard_input(db: None, typed: None) -> None:
    said = run("create_organization", "Initech", "--owner-email", "peter@initech.example", "--owner-password-stdin")

    assert User.objects.get().check_password("correct horse battery")
    assert "changepassword" not in said.err


def test_somebody_with_an_account_becomes_the_owner_and_keeps_it(organization: Organization) -> None:
    said = run("create_organization", "Initech", "--owner-email", "OWNER@acme.example")

    assert Membership.objects.of(opened(said.out)).get().user == User.objects.get()
    assert "The owner signs in with the account they have." in said.err


def test_a_password_for_somebody_with_an_account_is_refused_and_opens_nothing(
    organization: Organization, typed: None
) -> None:
    said = command_error(
        "create_organization", "Initech", "--owner-email", "owner@acme.example", "--owner-password-stdin"
    )

    assert said == "owner@acme.example has an account and keeps its password; leave out --owner-password-stdin"
    assert list(Organization.objects.all()) == [organization]


@pytest.mark.parametrize(
    ("name", "email", "sentence"),
    [
        ("  ", "peter@initech.example", "The name must not be blank"),
        ("x" * 256, "peter@initech.example", "The name must be at most 255 characters long"),
        ("Initech", "peter", "peter is no e-mail address"),
        ("Initech", " ", "The blank --owner-email is no e-mail address"),
    ],
)
def test_what_can_not_be_is_refused_in_a_sentence(db: None, name: str, email: str, sentence: str) -> None:
    assert command_error("create_organization", name, "--owner-email", email) == sentence
    assert not Organization.objects.exists()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("", "There is no password on standard input"),
        ("12345678\n", "This password is too common. This password is entirely numeric."),
    ],
)
def test_a_bad_password_is_refused_and_opens_nothing(
    db: None, monkeypatch: pytest.MonkeyPatch, given: str, sentence: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(given))

    assert (
        command_error(
            "create_organization", "Initech", "--owner-email", "peter@initech.example", "--owner-password-stdin"
        )
        == sentence
    )
    assert not Organization.objects.exists()
