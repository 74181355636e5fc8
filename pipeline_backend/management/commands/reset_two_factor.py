"""manage.py reset_two_factor: let a person in who has lost their authenticator app and their recovery codes."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.two_factor import reset_two_factor
from organizations.models import User
from pipeline_backend.management.commands._command import BaseServiceCommand


class Command(BaseServiceCommand):
    help = (
        "Switch a user's two-factor sign-in off and end their sessions. The password stays. The user gets an e-mail. "
        "Make sure first that it is really the user who asks: this is what two-factor sign-in protects against."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL", help="The e-mail address with which the user signs in.")

    def handle(self, *args: Any, **options: Any) -> None:
        email = options["email"].strip()
        user = User.objects.with_email(email).first()
        if user is None:
            raise CommandError(f"There is no user with the e-mail address {email}")
        if reset_two_factor(user=user):
            self.info(f"Two-factor sign-in of {user.email} is off; all sessions have ended.")
        else:
            self.info(f"Two-factor sign-in of {user.email} was not on.")
