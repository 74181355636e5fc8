"""manage.py create_api_key: issue an API key for an integration."""

from datetime import UTC, date, datetime, time
from typing import Any

from django.core.management.base import CommandError, CommandParser

from foundation.api.fields import parse_timestamp
from foundation.db.timestamps import isoformat_z, now
from organizations.defaults import both_scopes
from organizations.models import Scope
from organizations.services import issue_key
from pipeline_backend.management.commands._command import BaseServiceCommand, clean_name, get_organization


class Command(BaseServiceCommand):
    help = (
        "Issue an API key for an organization. Prints only the key on standard output. "
        "The key can't be shown again; to replace it, revoke it (manage.py revoke_api_key) and issue a new one."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("organization", metavar="ORGANIZATION", help="The organization's id or exact name.")
        parser.add_argument(
            "--name", required=True, help="What uses the key. Histories show this name for the changes it makes."
        )
        parser.add_argument(
            "--scope",
            action="append",
            choices=Scope.values,
            help=f"What the key may do. Repeat the option for several. {' and '.join(both_scopes())} by default.",
        )
        parser.add_argument(
            "--expires",
            metavar="ISO",
            help="When the key expires: a date, such as 2027-01-31 (the start of that day in UTC), or a timestamp, "
            "such as 2027-01-31T18:00:00Z. By default it doesn't expire.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name, expires_at = clean_name(options["name"]), parse_expiry(options["expires"])
        scopes = [scope for scope in Scope.values if scope in (options["scope"] or both_scopes())]
        organization = get_organization(options["organization"])
        key, key_text = issue_key(organization=organization, name=name, scopes=scopes, expires_at=expires_at)
        self.stdout.write(key_text)
        until = f"until {isoformat_z(expires_at)}" if expires_at else "until it is revoked"
        self.info(f"{key} has the scopes {', '.join(scopes)} in {organization} {until}. The key is not shown again.")


def parse_expiry(text: str | None) -> datetime | None:
    """Return the time of expiry, or None if none is given. Raises CommandError unless it is in the future."""
    if text is None:
        return None
    try:
        # Distinguished by length, because fromisoformat() also accepts shorter forms of a date, such as 20270131.
        is_date = len(text) == len("2027-01-31")
        expires_at = datetime.combine(date.fromisoformat(text), time(), UTC) if is_date else parse_timestamp(text)
    except ValueError:
        raise CommandError(
            f"--expires {text} is neither a date, such as 2027-01-31, nor a timestamp, such as 2027-01-31T18:00:00Z"
        ) from None
    if expires_at <= now():
        raise CommandError(f"--expires {text} is in the past")
    return expires_at
