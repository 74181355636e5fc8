"""manage.py reencrypt: encrypt all secrets in the database with the first of FIELD_ENCRYPTION_KEYS."""

from typing import Any

from django.core.management.base import CommandError

from foundation.db.encryption import EncryptedField, KeyState, encrypted_fields, key_state, reencrypt, stored_values
from pipeline_backend.management.commands._command import BaseServiceCommand


class Command(BaseServiceCommand):
    help = (
        "Encrypt all encrypted columns (signing secrets of webhook endpoints, Slack URLs, keys of two-factor sign-in) "
        "with the first key of FIELD_ENCRYPTION_KEYS, so that the other keys can be removed. Run it when every process "
        "has the new first key. The service can keep running: values that change meanwhile stay as they are. Safe to "
        "interrupt and to repeat: what has the first key already is skipped. Exit code 1 if a value can't be decrypted "
        "with any of the keys; it is named by table, column and primary key."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Repeat until nothing is left to do. Raises CommandError if there are values that can't be decrypted."""
        total, unreadable, reencrypted = 0, list[str](), 1
        while reencrypted:
            # The last round finds nothing to do, and so confirms that no process still writes with another key.
            results = [self.reencrypt_column(field) for field in encrypted_fields()]
            total = sum(count for count, _, _ in results)
            reencrypted = sum(count for _, count, _ in results)
            unreadable = [name for _, _, names in results for name in names]
        for name in unreadable:
            self.info(f"Can't be decrypted: {name}")
        if unreadable:
            raise CommandError(
                f"{len(unreadable)} of {total} values can't be decrypted: FIELD_ENCRYPTION_KEYS lacks their key. "
                "All others are encrypted with the first key."
            )
        self.stdout.write(
            f"All {total} values are encrypted with the first key; the others may be removed from "
            "FIELD_ENCRYPTION_KEYS."
        )

    def reencrypt_column(self, field: EncryptedField) -> tuple[int, int, list[str]]:
        """Go through a column. Return how many values it has, how many had another key, and the unreadable ones."""
        column = f"{field.model._meta.db_table}.{field.column}"
        count, reencrypted, unreadable = 0, 0, list[str]()
        for batch in stored_values(field):
            for pk, stored in batch:
                state = key_state(stored)
                if state is KeyState.OLD:
                    # Also counted if the value has changed meanwhile, so that another round looks at it.
                    reencrypt(field, pk, stored)
                    reencrypted += 1
                elif state is KeyState.UNKNOWN:
                    unreadable.append(f"{column} of {pk}")
            count += len(batch)
            self.info(f"{column}: {count} values checked, {reencrypted} re-encrypted")
        return count, reencrypted, unreadable
