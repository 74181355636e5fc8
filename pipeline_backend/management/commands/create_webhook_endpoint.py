"""manage.py create_webhook_endpoint: a receiver of an organization's events."""

from typing import Any

from django.core.management.base import CommandParser

from pipeline_backend.api.fields import MAX_URL_LENGTH
from pipeline_backend.management.commands._command import BaseServiceCommand, clean_text, get_organization
from webhooks.services import add_endpoint
from webhooks.topics import topics


class Command(BaseServiceCommand):
    """Registers a webhook endpoint."""

    help = (
        "Register a receiver of an organization's events. Prints the signing secret (whsec_…), alone, on standard output: "
        "it can't be shown again, only rotated in the admin. What happens from now on is sent there."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose events, which, and where to."""
        parser.add_argument("organization", metavar="ORGANIZATION", help="Its id, or its exact name.")
        parser.add_argument(
            "url", metavar="URL", help="A public https address; others only if WEBHOOKS_ALLOW_PRIVATE is set."
        )
        parser.add_argument(
            "--events",
            default="",
            metavar="A,B",
            help=f"Only these event types; by default all of them: {', '.join(topics())}.",
        )
        parser.add_argument("--description", default="", help="What people read in the admin instead of the URL.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Register it and print the secret, this once."""
        url, description = (
            clean_text("URL", options["url"], MAX_URL_LENGTH),
            clean_text("description", options["description"]),
        )
        types = [name for name in dict.fromkeys(map(str.strip, options["events"].split(","))) if name]
        organization = get_organization(options["organization"])
        _, secret = add_endpoint(organization=organization, url=url, description=description, types=types)
        self.stdout.write(secret)
        self.info(
            f"{url} receives {', '.join(types) or 'all events'} of {organization}. The secret is not shown again."
        )
