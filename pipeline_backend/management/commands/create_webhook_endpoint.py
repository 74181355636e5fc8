"""manage.py create_webhook_endpoint: subscribe a URL to an organization's events."""

from typing import Any

from django.core.management.base import CommandParser

from foundation.api.fields import MAX_URL_LENGTH
from pipeline_backend.management.commands._command import BaseServiceCommand, clean_text, get_organization
from webhooks.services import add_endpoint
from webhooks.topics import topics


class Command(BaseServiceCommand):
    help = (
        "Create a webhook endpoint, which receives an organization's events from now on. "
        "Prints only the signing secret (whsec_…) on standard output. "
        "The secret can't be shown again, only rotated in the admin."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("organization", metavar="ORGANIZATION", help="The organization's id or exact name.")
        parser.add_argument(
            "url", metavar="URL", help="A public https URL. Others are allowed only if WEBHOOKS_ALLOW_PRIVATE is set."
        )
        parser.add_argument(
            "--events",
            default="",
            metavar="A,B",
            help=f"Send only these event types. By default all are sent: {', '.join(topics())}.",
        )
        parser.add_argument("--description", default="", help="What the admin shows instead of the URL.")

    def handle(self, *args: Any, **options: Any) -> None:
        url = clean_text("URL", options["url"], MAX_URL_LENGTH)
        description = clean_text("description", options["description"])
        event_types = [name for name in dict.fromkeys(map(str.strip, options["events"].split(","))) if name]
        organization = get_organization(options["organization"])
        _, secret = add_endpoint(organization=organization, url=url, description=description, event_types=event_types)
        self.stdout.write(secret)
        events = ", ".join(event_types) or "all events"
        self.info(f"{url} receives {events} of {organization}. The secret is not shown again.")
