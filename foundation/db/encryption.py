"""Encryption at rest: a text field whose column is readable only with the application's key.

Migrations name `EncryptedField` by its import path: this module never moves.
"""

from collections.abc import Iterator
from enum import Enum
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.functions import Cast

BATCH = 1000


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


class KeyState(Enum):
    CURRENT = "the first key"
    OLD = "another key"
    UNKNOWN = "none of the keys"


def key_state(stored: str) -> KeyState:
    newest = MultiFernet([Fernet(settings.FIELD_ENCRYPTION_KEYS[0])])
    for state, keys in {KeyState.CURRENT: newest, KeyState.OLD: cipher()}.items():
        try:
            keys.decrypt(stored.encode())
        except InvalidToken:
            continue
        return state
    return KeyState.UNKNOWN


def encrypted_fields() -> list[EncryptedField]:
    fields = [field for model in apps.get_models() for field in model._meta.local_concrete_fields]
    return [field for field in fields if isinstance(field, EncryptedField)]


def stored_values(field: EncryptedField) -> Iterator[list[tuple[object, str]]]:
    """Yield the rows' primary keys and encrypted values, ordered by primary key, in batches; without empty values."""
    # Cast, because reading an EncryptedField decrypts it, and one unreadable value would fail the whole query.
    rows = field.model._base_manager.order_by("pk").exclude(**{field.name: ""}).exclude(**{field.name: None})
    batch = list(rows.values_list("pk", Cast(field.name, models.TextField()))[:BATCH])
    while batch:
        yield batch
        batch = list(rows.filter(pk__gt=batch[-1][0]).values_list("pk", Cast(field.name, models.TextField()))[:BATCH])


def reencrypt(field: EncryptedField, pk: object, stored: str) -> bool:
    """Encrypt a row's value with the first key. Return False if the row is gone or has another value by now.

    Raises InvalidToken if none of the keys fits.
    """
    new = models.Value(cipher().rotate(stored.encode()).decode(), models.TextField())
    rows = field.model._base_manager.annotate(stored=Cast(field.name, models.TextField()))
    # One statement that compares and writes: a change that is committed meanwhile stays.
    return rows.filter(pk=pk, stored=stored).update(**{field.name: new}) == 1
