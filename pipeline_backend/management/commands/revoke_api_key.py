"""manage.py revoke_api_key: refuse a key from now on."""

import re
from typing import Any

from django.core.management.base import CommandError, CommandParser

from organizations.models import ApiKey
from organizations.services import revoke_key
from pipeline_backend.db.timestamps import isoformat_z
from pipeline_backend.management.commands._command import BaseServiceCommand

KEY_ID = re.compile(r"(?:pb_)?([0-9A-Za-z]{12})(?:_\S*)?")


class Command(BaseServiceCommand):
    """Revokes an API key."""

    help = "Revoke an API key: requests with it are refused from the next one on. Safe to repeat. There is no way back; issue a new key instead."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which key."""
        parser.add_argument(
            "key_id",
            metavar="KEY_ID",
            help="The key's 12-character id, as the admin shows it (pb_<id>_…), or the whole key.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Revoke it, and say whose it was."""
        match = KEY_ID.fullmatch(options["key_id"].strip())
        if match is None:
            raise CommandError("KEY_ID must be a key's 12-character id, or a key that begins with pb_")
        key = ApiKey.unscoped.select_related("organization").filter(key_id=match[1]).first()
        if key is None:
            raise CommandError(f"There is no API key with the id {match[1]}")
        revoke_key(key=key)
        self.info(
            f"{key} of {key.organization} was revoked {f'at {isoformat_z(key.revoked_at)} already' if key.revoked_at else 'now'}."
        )
