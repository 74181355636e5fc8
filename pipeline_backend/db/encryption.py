"""Encryption at rest: a text field whose column is readable only with the application's key.

Migrations name `EncryptedField` by its import path: this module never moves.
"""

from functools import cache

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


@cache
def cipher() -> MultiFernet:
    """Return a cipher that encrypts with the first of the configured keys and decrypts with any of them."""
    # Several keys are what makes rotation possible: put the new key first, and drop the old one when nothing needs it.
    return MultiFernet([Fernet(key) for key in settings.FIELD_ENCRYPTION_KEYS])


class EncryptedField(models.TextField):
    """A text field that encrypts on write and decrypts on read. Empty values are stored as they are."""

    def get_prep_value(self, value: str | None) -> str | None:
        return value and cipher().encrypt(value.encode()).decode()

    def from_db_value(
        self, value: str | None, expression: models.Expression, connection: BaseDatabaseWrapper
    ) -> str | None:
        """Return the decrypted text; raises InvalidToken if none of the keys fits."""
        return value and cipher().decrypt(value.encode()).decode()
