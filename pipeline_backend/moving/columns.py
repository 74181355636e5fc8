"""Values that mean something else in another installation: encrypted ones, content types, and people's ids."""

from collections.abc import Callable, Mapping, Sequence

from cryptography.fernet import Fernet, InvalidToken
from django.contrib.contenttypes.models import ContentType

from foundation.db.encryption import cipher, encrypted_fields
from pipeline_backend.moving import Refused
from pipeline_backend.moving.tables import CONTENT_TYPE, USER, Catalog, Table

Change = Callable[[bytes], bytes]
NULL = b"\\N"  # as COPY writes it; tabs and line ends within values are escaped


class ColumnChanges:
    """Changes values in rows as COPY writes them. Nulls and empty texts stay."""

    def __init__(self, columns: Sequence[str], changes: Mapping[str, Change]) -> None:
        self.changes = [(columns.index(name), change) for name, change in changes.items() if name in columns]

    def apply(self, rows: bytes) -> bytes:
        return b"".join(map(self.change_row, rows.splitlines(keepends=True))) if self.changes else rows

    def change_row(self, row: bytes) -> bytes:
        values = row.removesuffix(b"\n").split(b"\t")
        for index, change in self.changes:
            if values[index] not in (NULL, b""):
                values[index] = change(values[index])
        return b"\t".join(values) + b"\n"


def encrypted_columns(table: str) -> list[str]:
    return [str(field.column) for field in encrypted_fields() if field.model._meta.db_table == table]


def exported_changes(catalog: Catalog, table: Table, key: bytes) -> ColumnChanges:
    """Return what happens to values that are exported: secrets get the file's key, content types their names."""

    def reencrypt(value: bytes) -> bytes:
        try:
            return Fernet(key).encrypt(cipher().decrypt(value))
        except InvalidToken:
            raise Refused(
                f"A value of {table.name} can't be decrypted with FIELD_ENCRYPTION_KEYS; manage.py reencrypt names it"
            ) from None

    names = {str(row.pk).encode(): f"{row.app_label}.{row.model}".encode() for row in ContentType.objects.all()}
    changes: dict[str, Change] = dict.fromkeys(encrypted_columns(table.name), reencrypt)
    changes |= dict.fromkeys(catalog.columns_of(table.name, CONTENT_TYPE), names.__getitem__)
    return ColumnChanges(table.columns, changes)


def imported_changes(
    catalog: Catalog, table: str, columns: Sequence[str], key: bytes, people: Mapping[str, str]
) -> ColumnChanges:
    """Return what happens to values that are imported. `people` has the ids of people who have another one here."""
    ids = {f"{row.app_label}.{row.model}".encode(): str(row.pk).encode() for row in ContentType.objects.all()}
    others = {old.encode(): new.encode() for old, new in people.items()}
    changes: dict[str, Change] = {
        name: lambda value: cipher().encrypt(Fernet(key).decrypt(value)) for name in encrypted_columns(table)
    }
    changes |= dict.fromkeys(catalog.columns_of(table, CONTENT_TYPE), ids.__getitem__)
    if people:
        changes |= {name: lambda id: others.get(id, id) for name in catalog.columns_of(table, USER)}
    return ColumnChanges(columns, changes)
