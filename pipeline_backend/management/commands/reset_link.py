"""manage.py reset_link: print a one-time link for a person who gets no e-mail."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.invitations import invitation_link, open_invitations_for
from accounts.new_password import reset_link
from organizations.models import User
from pipeline_backend.management.commands._command import BaseServiceCommand


class Command(BaseServiceCommand):
    help = (
        "Print the link with which the person with this e-mail address chooses a new password, once and within one "
        "hour. If there is no account yet, print the links of the address's open invitations. "
        "Give it to that person only: it opens their account."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL", help="The person's e-mail address.")

    def handle(self, *args: Any, **options: Any) -> None:
        email = options["email"].strip()
        user = User.objects.with_email(email).first()
        if user and not user.is_active:
            raise CommandError(f"The account of {email} is disabled")
        links = (
            [reset_link(user)] if user else [invitation_link(invitation) for invitation in open_invitations_for(email)]
        )
        if not links:
            raise CommandError(f"There is neither an account nor an open invitation for {email}")
        for link in links:
            self.stdout.write(link)
