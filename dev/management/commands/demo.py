"""manage.py demo: create an organization with demo data, of any size."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.urls import reverse

from dev.demo.growth import grow
from dev.demo.loading import Demo, connect_inbox, load, working_key, working_password
from dev.local import MIGRATED, files
from pipeline_backend.management.commands._command import BaseServiceCommand, first_text_line, manage_py


class Command(BaseServiceCommand):
    help = (
        "Create a demo organization with members, leads, opt-ins, appointments and their histories, and a second, "
        "small organization. Safe to repeat: existing data is kept. Nothing is sent, except webhooks and e-mail "
        "about one booking in a local run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--facts",
            type=Path,
            metavar="FILE",
            help="Write URL, API key and password into this JSON file (mode 0600). A key and password in it that work "
            "are kept.",
        )
        parser.add_argument(
            "--leads", type=int, metavar="N", help="Add leads up to this total; by default half of --appointments."
        )
        parser.add_argument(
            "--appointments",
            type=int,
            metavar="N",
            help="Add appointments up to this total, by default twice --leads. Added rows have no events.",
        )
        parser.add_argument("--migrate", action="store_true", help="Apply missing migrations first.")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path | None = options["facts"]
        # Checked first, because creating the demo takes a while.
        if path and not path.parent.is_dir():
            raise CommandError(f"The folder {path.parent} does not exist")
        if options["migrate"]:
            call_command("migrate", interactive=False, stdout=self.stdout)
            self.stdout.write(MIGRATED)
        demo = load()
        self.stdout.write(f"{demo.organization} ({demo.organization.pk}) {'created' if demo.key_text else 'exists'}.")
        leads, appointments = grow(demo.organization, leads=options["leads"], appointments=options["appointments"])
        if leads:
            self.stdout.write(f"Added {leads:,} leads and {appointments:,} appointments.")
        connect_inbox(demo)
        if path:
            self.write_info_file(path, demo)
        else:
            self.print_credentials(demo)

    def write_info_file(self, path: Path, demo: Demo) -> None:
        """Write the file. Credentials in it that still work stay the same."""
        try:
            previous = json.loads(files.read_if_exists(path) or "{}")
            key, password = previous.get("api_key"), previous.get("admin_password")
        except (ValueError, AttributeError):  # not JSON, or not an object
            key = password = None
        info = {
            "base_url": settings.BASE_URL,
            "api_key": working_key(demo, key),
            "admin_url": settings.BASE_URL + reverse("admin:index"),
            "admin_email": demo.owner.email,
            "admin_password": working_password(demo, password),
            "organization": str(demo.organization.pk),
            "organization_name": demo.organization.name,
        }
        try:
            files.write_private(path, json.dumps(info, indent=2) + "\n")
        except OSError as error:
            raise CommandError(f"Can't write {path}: {first_text_line(error)}") from None
        self.stdout.write(f"URL, API key and password are in {path}.")

    def print_credentials(self, demo: Demo) -> None:
        """Print the key and a new password in the run that created the demo, else how to get a key."""
        # Only a hash of the key is stored, so it can't be printed again.
        if demo.key_text is None:
            key_command = manage_py(f"create_api_key {demo.organization.pk} --name NAME")
            self.stdout.write(f"For another key: {key_command}")
            return
        url, password = settings.BASE_URL + reverse("admin:index"), working_password(demo)
        self.stdout.write(f"Admin: {url}  {demo.owner.email}  {password}")
        self.stdout.write(f"API key: {demo.key_text}")
