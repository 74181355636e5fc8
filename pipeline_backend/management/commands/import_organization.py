"""manage.py import_organization: create an organization from a file of export_organization."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import DataError, IntegrityError

from pipeline_backend.management.commands._command import BaseServiceCommand, first_text_line
from pipeline_backend.moving.files import read_key
from pipeline_backend.moving.importing import import_organization


class Command(BaseServiceCommand):
    help = (
        "Create the organization of a file that export_organization has written, with the same ids, API keys and "
        "events. Refuses an organization that exists. If it ends early, run it again: it begins anew."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="The file of export_organization.")
        parser.add_argument(
            "--key-file", metavar="FILE", type=Path, required=True, help="The file with the key of the export."
        )
        parser.add_argument(
            "--match-accounts-by-email",
            action="store_true",
            help="Use the accounts that members have here with another id. The API then shows these ids.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        key = read_key(options["key_file"])
        try:
            organization = import_organization(
                path=options["file"], key=key, by_email=options["match_accounts_by_email"], progress=self.info
            )
        except (IntegrityError, DataError) as error:
            raise CommandError(f"A row was refused; run this again: {first_text_line(error)}") from None
        state = "active" if organization.is_active else "not active"
        self.stdout.write(f"{organization} was imported, and is {state}.")
