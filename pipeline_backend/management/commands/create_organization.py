"""manage.py create_organization: a new tenant, ready to work."""

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
    """Opens an organization."""

    help = (
        "Open an organization: its ten statuses and its owner, who may sign in to the admin. "
        "Prints the organization's id, alone, on standard output. "
        "Somebody who has an account by this e-mail keeps it, with its password, and becomes the owner."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Who it is and who owns it."""
        parser.add_argument("name", metavar="NAME", help="What the organization is called; names need not be unique.")
        parser.add_argument(
            "--owner-email", required=True, metavar="EMAIL", help="The owner, and with what they sign in."
        )
        parser.add_argument(
            "--owner-password-stdin",
            action="store_true",
            help="Read the new owner's password from the first line of standard input; without it, set one later with manage.py changepassword.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Open it, print the id, and say what is next."""
        name, email = clean_name(options["name"]), checked_email(options["owner_email"])
        password = password_for(email) if options["owner_password_stdin"] else None
        with transaction.atomic():
            opened = create_organization(name=name, owner_email=email)
            if password:
                set_password(opened, password)
        self.stdout.write(str(opened.organization.pk))
        self.say_next(opened, has_password=bool(password))

    def say_next(self, opened: CreatedOrganization, *, has_password: bool) -> None:
        """Who the owner is, and the commands that follow."""
        email = opened.owner.user.email
        self.info(f"{opened.organization} is open; its owner is {email}.")
        if not opened.is_new_user:
            self.info("The owner signs in with the account they have.")
        elif not has_password:
            self.info(f"The owner has no password yet; set one with: manage.py changepassword {email}")
        self.info(f"For an integration: manage.py create_api_key {opened.organization.pk} --name <what uses it>")


def checked_email(text: str) -> str:
    """The address, if it is one."""
    email = text.strip()
    try:
        validate_email(email)
    except ValidationError:
        raise CommandError(f"{email or 'The blank --owner-email'} is no e-mail address") from None
    return email


def password_for(email: str) -> str:
    """The password on standard input, if it is a good one."""
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise CommandError("There is no password on standard input")
    try:
        validate_password(password, User(email=email))
    except ValidationError as error:
        raise CommandError(" ".join(error.messages)) from None
    return password


def set_password(opened: CreatedOrganization, password: str) -> None:
    """Give the new owner their password; someone who has an account keeps theirs."""
    user = opened.owner.user
    if not opened.is_new_user:
        raise CommandError(f"{user.email} has an account and keeps its password; leave out --owner-password-stdin")
    user.set_password(password)
    user.save(update_fields=["password"])
