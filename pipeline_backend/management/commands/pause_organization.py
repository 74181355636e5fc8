"""manage.py pause_organization: pause an organization that is to be moved, or end the pause."""

from typing import Any

from django.core.management.base import CommandParser

from pipeline_backend.management.commands._command import BaseServiceCommand, get_organization
from pipeline_backend.moving.pausing import only_one, pause, resume, wait_until_quiet


class Command(BaseServiceCommand):
    help = (
        "Pause an organization: requests with its API keys get 503 with Retry-After, nothing is sent for it, and its "
        "members can't sign in to it. Returns when nothing is at work for it any more. --end makes it active again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("organization", metavar="NAME", help="The organization's name, or its id.")
        parser.add_argument("--end", action="store_true", help="End the pause.")

    def handle(self, *args: Any, **options: Any) -> None:
        organization = get_organization(options["organization"])
        with only_one(organization.pk):
            if options["end"]:
                resume(organization=organization)
            else:
                pause(organization=organization)
                wait_until_quiet(organization)
        self.stdout.write(f"{organization} is {'active again' if options['end'] else 'paused'}.")
