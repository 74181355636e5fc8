"""Secrets at rest: a text column that only this application can read."""

from functools import cache
from typing import Any

from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.db import models


@cache
def cipher() -> MultiFernet:
    """Encrypts with the first key, decrypts with any."""
    return MultiFernet([Fernet(key) for key in settings.FIELD_ENCRYPTION_KEYS])


class EncryptedField(models.TextField):
    """Text, encrypted on its way to the database and decrypted on its way back."""

    def get_prep_value(self, value: Any) -> Any:
        """What is stored."""
        return value and cipher().encrypt(value.encode()).decode()

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """What was meant."""
        return value and cipher().decrypt(value.encode()).decode()
