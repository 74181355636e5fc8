"""manage.py revoke_api_key: make an API key invalid."""

import re
from typing import Any

from django.core.management.base import CommandError, CommandParser

from foundation.db.timestamps import isoformat_z
from organizations.models import ApiKey
from organizations.services import revoke_key
from pipeline_backend.management.commands._command import BaseServiceCommand

# The id alone, the form that the admin shows (pb_<id>_…), or the whole key: whatever an operator has at hand.
KEY_ID = re.compile(r"(?:pb_)?([0-9A-Za-z]{12})(?:_\S*)?")


class Command(BaseServiceCommand):
    help = (
        "Revoke an API key: the next request with it is refused. Safe to repeat. "
        "This can't be undone; issue a new key instead."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "key_id",
            metavar="KEY_ID",
            help="The key's 12-character id, as the admin shows it (pb_<id>_…), or the whole key.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        match = KEY_ID.fullmatch(options["key_id"].strip())
        # The argument is not repeated in the error: it may be a mistyped key.
        if match is None:
            raise CommandError("KEY_ID must be a key's 12-character id, or a key that begins with pb_")
        key = ApiKey.unscoped.select_related("organization").filter(key_id=match[1]).first()
        if key is None:
            raise CommandError(f"There is no API key with the id {match[1]}")
        revoke_key(key=key)
        # `key` was read before the change, so this is the time of an earlier revocation.
        if key.revoked_at:
            self.info(f"{key} of {key.organization} was already revoked at {isoformat_z(key.revoked_at)}.")
        else:
            self.info(f"{key} of {key.organization} is now revoked.")
