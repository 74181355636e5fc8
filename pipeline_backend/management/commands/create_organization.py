"""manage.py create_organization: create a tenant that is ready to use."""

import sys
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.core.validators import validate_email
from django.db import transaction

from organizations.models import User
from pipeline_backend.management.commands._command import BaseServiceCommand, clean_name
from pipeline_backend.onboarding import CreatedOrganization, create_organization


class Command(BaseServiceCommand):
    """Create an organization."""

    help = (
        "Create an organization with its ten statuses and an owner, who can sign in to the admin. "
        "Prints only the organization's id on standard output. "
        "If somebody already has an account with this e-mail address, it is kept, with its password, "
        "and that person becomes the owner."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Define the organization's name, its owner, and where the password comes from."""
        parser.add_argument("name", metavar="NAME", help="The organization's name. Names need not be unique.")
        parser.add_argument(
            "--owner-email", required=True, metavar="EMAIL", help="The owner's e-mail address, also for signing in."
        )
        parser.add_argument(
            "--owner-password-stdin",
            action="store_true",
            help="Read the new owner's password from the first line of standard input. "
            "Without this option, set one later with manage.py changepassword.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the organization, print its id, and say what to do next."""
        name, email = clean_name(options["name"]), clean_email(options["owner_email"])
        password = read_password(email) if options["owner_password_stdin"] else None
        # One transaction: if the password can't be set, the organization isn't created either.
        with transaction.atomic():
            created = create_organization(name=name, owner_email=email)
            if password:
                set_password(created, password)
        self.stdout.write(str(created.organization.pk))
        self.print_next_steps(created, has_password=bool(password))

    def print_next_steps(self, created: CreatedOrganization, *, has_password: bool) -> None:
        """Print who the owner is, and the commands that usually follow."""
        email = created.owner.user.email
        self.info(f"{created.organization} was created; its owner is {email}.")
        if not created.is_new_user:
            self.info("The owner signs in with their existing account.")
        elif not has_password:
            self.info(f"The owner has no password yet; set one with: manage.py changepassword {email}")
        self.info(f"For an integration: manage.py create_api_key {created.organization.pk} --name <what uses it>")


def clean_email(text: str) -> str:
    """Return the e-mail address without surrounding white space. Raises CommandError if it isn't valid."""
    email = text.strip()
    try:
        validate_email(email)
    except ValidationError:
        reason = f"{email} is not a valid e-mail address" if email else "--owner-email must not be blank"
        raise CommandError(reason) from None
    return email


def read_password(email: str) -> str:
    """Return the password from standard input. Raises CommandError if it is missing or too weak."""
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise CommandError("There is no password on standard input")
    try:
        validate_password(password, User(email=email))
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    return password


def set_password(created: CreatedOrganization, password: str) -> None:
    """Store the new owner's password. Raises CommandError if they already had an account."""
    user = created.owner.user
    # An operator of this command must not take over somebody's account, which may belong to other organizations too.
    if not created.is_new_user:
        raise CommandError(f"{user.email} has an account and keeps its password; leave out --owner-password-stdin")
    user.set_password(password)
    user.save(update_fields=["password"])
