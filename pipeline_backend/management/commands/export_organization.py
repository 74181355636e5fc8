"""manage.py export_organization: write an organization into a file."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from organizations.models import Move
from pipeline_backend.management.commands._command import BaseServiceCommand, get_organization, manage_py
from pipeline_backend.moving.exporting import export_organization
from pipeline_backend.moving.files import read_key
from pipeline_backend.moving.pausing import only_one, pause, wait_until_quiet


class Command(BaseServiceCommand):
    help = (
        "Write everything that belongs to an organization into an encrypted file, for import_organization of another "
        "installation of the same version (docs/operate.md). Without --pause the organization keeps working, and the "
        "file is a copy of one moment."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("organization", metavar="NAME", help="The organization's name, or its id.")
        parser.add_argument("file", metavar="FILE", type=Path, help="The file to write. It must not exist.")
        parser.add_argument(
            "--key-file",
            metavar="FILE",
            type=Path,
            required=True,
            help="The file with the key that encrypts. If it does not exist, a new key is written to it.",
        )
        parser.add_argument(
            "--pause",
            action="store_true",
            help="Pause the organization first, and leave it paused, to move it: its requests get 503 with "
            "Retry-After, nothing is sent for it, and its members can't sign in to it.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        organization, path = get_organization(options["organization"]), options["file"]
        if path.exists():
            raise CommandError(f"{path} exists")
        if organization.move == Move.IN:
            raise CommandError(f"{organization} is not imported completely")
        with only_one(organization.pk):
            key = read_key(options["key_file"], create=True)
            if options["pause"] and (organization.is_active or organization.move):
                pause(organization=organization)
                self.info(
                    f"{organization} is paused. To end that: {manage_py(f'pause_organization {organization.pk}')} --end"
                )
                wait_until_quiet(organization)
            counts = export_organization(organization=organization, path=path, key=key, progress=self.info)
        self.stdout.write(f"{sum(counts.values()):,} rows of {organization} were written to {path}.")
