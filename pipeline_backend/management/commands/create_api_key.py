"""manage.py create_api_key: a key for an integration."""

from datetime import UTC, date, datetime, time
from typing import Any

from django.core.management.base import CommandError, CommandParser

from organizations.models import Scope
from organizations.services import issue_key
from pipeline_backend.api.fields import parse_timestamp
from pipeline_backend.db.timestamps import isoformat_z, now
from pipeline_backend.management.commands._command import BaseServiceCommand, clean_name, get_organization


class Command(BaseServiceCommand):
    """Issues an API key."""

    help = (
        "Issue an API key of an organization. Prints the key, alone, on standard output: "
        "it can't be shown again, only revoked (manage.py revoke_api_key) and replaced."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose key, and what it may."""
        parser.add_argument("organization", metavar="ORGANIZATION", help="Its id, or its exact name.")
        parser.add_argument("--name", required=True, help="What uses the key; the history shows this name.")
        parser.add_argument(
            "--scope",
            action="append",
            choices=Scope.values,
            help="What the key may do; give it twice for both, which is the default.",
        )
        parser.add_argument(
            "--expires",
            metavar="ISO",
            help="When it ends: 2027-01-31 (its first moment, UTC) or 2027-01-31T18:00:00Z; never, by default.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Issue it and print it, this once."""
        name, expires_at = clean_name(options["name"]), end_of(options["expires"])
        scopes = [scope for scope in Scope.values if scope in (options["scope"] or Scope.values)]
        organization = get_organization(options["organization"])
        key, text = issue_key(organization=organization, name=name, scopes=scopes, expires_at=expires_at)
        self.stdout.write(text)
        until = f"until {isoformat_z(expires_at)}" if expires_at else "until it is revoked"
        self.info(f"{key} may {' and '.join(scopes)} in {organization}, {until}. It is not shown again.")


def end_of(text: str | None) -> datetime | None:
    """The moment, if it is still to come."""
    if text is None:
        return None
    try:
        moment = (
            datetime.combine(date.fromisoformat(text), time(), UTC)
            if len(text) == len("2027-01-31")
            else parse_timestamp(text)
        )
    except ValueError:
        raise CommandError(
            f"--expires {text} is neither a date such as 2027-01-31 nor a timestamp such as 2027-01-31T18:00:00Z"
        ) from None
    if moment <= now():
        raise CommandError(f"--expires {text} is in the past")
    return moment
