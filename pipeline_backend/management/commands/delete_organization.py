"""manage.py delete_organization: delete an organization with everything that belongs to it."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from pipeline_backend.management.commands._command import BaseServiceCommand, get_organization
from pipeline_backend.moving.deleting import count_rows, delete_organization
from pipeline_backend.moving.pausing import only_one


class Command(BaseServiceCommand):
    help = (
        "Delete an organization: all its rows, and the accounts of people who are in no other organization. The "
        "service keeps running. Interrupted, it continues when it is run again. It can't be undone, except from a "
        "backup or a file of export_organization. Without --confirm, only prints what would be deleted."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("organization", metavar="NAME", help="The organization's name, or its id.")
        parser.add_argument("--confirm", action="store_true", help="Delete it.")

    def handle(self, *args: Any, **options: Any) -> None:
        organization = get_organization(options["organization"])
        with only_one(organization.pk):
            if not options["confirm"]:
                for name, count in count_rows(organization).items():
                    self.info(f"{name}: {count:,} rows")
                raise CommandError(f"Nothing was deleted. To delete {organization} ({organization.pk}), add --confirm")
            delete_organization(organization=organization, progress=self.info)
        self.stdout.write(f"{organization} was deleted. No table has its id any more.")
