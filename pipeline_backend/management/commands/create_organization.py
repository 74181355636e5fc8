"""manage.py create_organization: create a tenant that is ready to use."""

import sys
from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from accounts.invitations import invitation_link
from accounts.onboarding import create_organization, create_organization_for
from foundation.api.emails import NOT_ASCII, parse_email
from foundation.db.timestamps import zone_names
from organizations.models import Organization, User
from pipeline_backend.management.commands._command import BaseServiceCommand, clean_name, manage_py


class Command(BaseServiceCommand):
    help = (
        "Create an organization with its ten statuses, and invite its owner by e-mail. "
        "Prints only the organization's id on standard output. "
        "The owner joins by opening the invitation's link, with a new account or with the one they have."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The organization's name. Names need not be unique.")
        parser.add_argument(
            "--owner-email", required=True, metavar="EMAIL", help="The owner's e-mail address, also for signing in."
        )
        parser.add_argument(
            "--time-zone", default="UTC", metavar="ZONE", help="The time zone of its people, such as Europe/Berlin."
        )
        parser.add_argument(
            "--test",
            action="store_true",
            help="Make it a test organization: events say so, only its owners get e-mails about its data, and "
            "POST /api/external/test/reset deletes the data.",
        )
        group = parser.add_mutually_exclusive_group()
        group.add_argument(
            "--print-link",
            action="store_true",
            help="Also print the invitation's link, on standard error. Give it to the owner only.",
        )
        group.add_argument(
            "--owner-password-stdin",
            action="store_true",
            help="Create the owner's account at once, without an invitation, with the password from the first line of "
            "standard input.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name, email = clean_name(options["name"]), clean_email(options["owner_email"])
        fields = {"is_test": options["test"], "time_zone": clean_time_zone(options["time_zone"])}
        if options["owner_password_stdin"]:
            organization = create_with_password(name, email, read_password(email), **fields)
            steps = [f"{organization} was created; its owner is {email}."]
        else:
            invitation = create_organization_for(name=name, owner_email=email, **fields)
            organization = invitation.organization
            steps = [f"{organization} was created; {invitation.email} gets an invitation by e-mail to be its owner."]
            if options["print_link"]:
                steps.append(f"The invitation's link, for the owner only: {invitation_link(invitation)}")
            else:
                steps.append(f"If no e-mail arrives, print the link: {manage_py(f'reset_link {invitation.email}')}")
        self.stdout.write(str(organization.pk))
        key_command = manage_py(f"create_api_key {organization.pk} --name NAME")
        for step in [*steps, f"For an integration: {key_command}"]:
            self.info(step)


def clean_email(text: str) -> str:
    """Return the e-mail address without surrounding white space. Raises CommandError if it isn't valid."""
    email = text.strip()
    try:
        return parse_email(email)
    except ValueError as error:
        problem = str(error) if str(error) == NOT_ASCII else "is not a valid e-mail address"
        reason = f"{email} {problem}" if email else "--owner-email must not be blank"
        raise CommandError(reason) from None


def clean_time_zone(name: str) -> str:
    if name not in zone_names():
        raise CommandError(f"{name} is not the name of a time zone, such as Europe/Berlin")
    return name


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


@transaction.atomic
def create_with_password(name: str, email: str, password: str, *, time_zone: str, is_test: bool) -> Organization:
    """Create the organization and its owner's account. Raises CommandError if the address has an account."""
    # An operator of this command must not take over an account, which may belong to other organizations, too.
    if User.objects.with_email(email).exists():
        raise CommandError(f"{email} has an account and keeps its password; leave out --owner-password-stdin")
    owner = User.objects.create_user(email, password, time_zone=time_zone)
    return create_organization(name=name, owner=owner, time_zone=time_zone, is_test=is_test)
