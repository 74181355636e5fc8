"""manage.py demo: an organization to look at, and to load-test."""

from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.urls import reverse

from pipeline_backend.demo import credentials, info_file
from pipeline_backend.demo.growth import GrowthPlan, plan_growth
from pipeline_backend.demo.loading import Demo, load, register_inbox
from pipeline_backend.management.commands._command import BaseServiceCommand, first_text_line


class Command(BaseServiceCommand):
    """Opens the demo organization, and lets it grow."""

    help = (
        "Open a demo organization with a team, leads, opt-ins, appointments and their histories, and a second small one beside it. "
        "Safe to repeat: what is there stays as it is. Nobody is mailed about demo data, and no webhook is sent."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """How large, and where to write the facts."""
        parser.add_argument(
            "--facts",
            type=Path,
            metavar="FILE",
            help="Write address, API key and password into this JSON file (mode 0600); what works is kept.",
        )
        parser.add_argument(
            "--leads",
            type=whole_number,
            metavar="N",
            help="Let it grow to this many leads; by default half of --appointments.",
        )
        parser.add_argument(
            "--appointments",
            type=whole_number,
            metavar="N",
            help="Let it grow to this many appointments. Grown rows have no events.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Load it, let it grow, and hand out the key and the password."""
        file: Path | None = options["facts"]
        if file and not file.parent.is_dir():
            raise CommandError(f"There is no folder {file.parent} for the facts")
        demo = load()
        self.stdout.write(
            f"{demo.organization} ({demo.organization.pk}) {'is open' if demo.is_new else 'was there already'}."
        )
        self.grow(plan_growth(demo.organization, options["leads"], options["appointments"]))
        register_inbox(demo)
        if file:
            self.write_facts(file, demo)
        else:
            self.tell_secrets(demo)

    def grow(self, plan: GrowthPlan) -> None:
        """Add what is missing, if anything is."""
        if plan.is_needed:
            plan.carry_out()
            self.stdout.write(f"Added {plan.new_leads:,} leads and {plan.new_calls:,} appointments.")

    def write_facts(self, file: Path, demo: Demo) -> None:
        """Everything that is needed to use the demo."""
        kept = info_file.read(file)
        told = {
            "base_url": settings.BASE_URL,
            "api_key": credentials.working_key(demo, kept.get("api_key")),
            "admin_url": settings.BASE_URL + reverse("admin:index"),
            "admin_email": credentials.get_owner().email,
            "admin_password": credentials.working_password(kept.get("admin_password")),
            "organization": str(demo.organization.pk),
            "organization_name": demo.organization.name,
        }
        try:
            info_file.write(file, told)
        except OSError as error:
            raise CommandError(f"The facts can't be written to {file}: {first_text_line(error)}") from None
        self.stdout.write(f"Address, API key and password are in {file}.")

    def tell_secrets(self, demo: Demo) -> None:
        """The key and the password, once: from the run that has made them."""
        if demo.key_text is None:
            self.stdout.write(f"For another key: manage.py create_api_key {demo.organization.pk} --name <what uses it>")
            return
        user = credentials.get_owner()
        self.stdout.write(
            f"Admin: {settings.BASE_URL}{reverse('admin:index')}  {user.email}  {credentials.set_new_password(user)}"
        )
        self.stdout.write(f"API key: {demo.key_text}")


def whole_number(text: str) -> int:
    """Zero or more."""
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text} is not a whole number")
    return int(text)
