"""Writing an organization's rows into a file: from one snapshot, in constant memory, while the service runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

from organizations.models import Membership, Move, Organization
from pipeline_backend.moving import Progress, Refused
from pipeline_backend.moving.accounts import account_tables
from pipeline_backend.moving.columns import exported_changes
from pipeline_backend.moving.files import FileWriter
from pipeline_backend.moving.tables import Catalog, Table
from webhooks.models import Event

FRAME_BYTES = 1 << 20
# Tables whose rows stay behind, and why.
NOT_EXPORTED = {
    "organizations_rowcount": "triggers count the rows anew",
    "appointments_daycount": "a task counts the rows anew",
    "appointments_changedday": "which of the counts are no longer right",
    "appointments_changedlead": "triggers mark the leads anew",
    "organizations_securitynotice": "e-mails to people about their account here, which are sent from here",
}
# Transaction ids begin again in another cluster. Minus the newest one, they are 0 and below: in the same order, and
# before those of every event that is added there.
EXPRESSIONS = {
    ("webhooks_event", "transaction"): "transaction - (SELECT max(transaction) FROM webhooks_event WHERE {condition})"
}


def export_organization(*, organization: Organization, path: Path, key: bytes, progress: Progress) -> dict[str, int]:
    """Write the organization into the file, and return the number of rows by table.

    An organization that isn't active shouldn't change meanwhile: raises Refused if an event was recorded.
    """
    counts: dict[str, int] = {}
    with FileWriter(path, key) as file, transaction.atomic():
        with connection.cursor() as cursor:
            # Read-only: until one that writes ends, no organization sees newer events (docs/decisions/0002).
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        organization.refresh_from_db()
        catalog, newest = Catalog(), newest_event(organization)
        tables = [table for table in catalog.tables(organization.pk) if table.name not in NOT_EXPORTED]
        file.write_value(describe(organization))
        for table in [*account_tables(catalog, tables), *tables]:
            counts[table.name] = export_table(file, catalog, table, key)
            progress(f"{table.name}: {counts[table.name]:,} rows")
        file.write_value({"counts": counts})
    if not organization.is_active and newest_event(organization) != newest:
        path.unlink()
        raise Refused(f"{organization} was changed while it was exported; run this again")
    return counts


def describe(organization: Organization) -> dict[str, Any]:
    members = Membership.objects.of(organization).order_by("pk")
    return {
        "version": settings.VERSION,
        "migrations": applied_migrations(),
        "organization": str(organization.pk),
        "name": organization.name,
        "becomes_active": organization.move == Move.OUT,  # it was paused for the move
        "is_copy": organization.is_active,
        "members": list(members.values_list("user_id", flat=True)),
    }


def applied_migrations() -> list[str]:
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())


def newest_event(organization: Organization) -> Any:  # noqa: ANN401  # an id, or None
    return Event.objects.of(organization).order_by("-transaction", "-id").values_list("pk", flat=True).first()


def export_table(file: FileWriter, catalog: Catalog, table: Table, key: bytes) -> int:
    changes, count = exported_changes(catalog, table, key), 0
    file.write_value({"table": table.name, "columns": table.columns})
    for rows in read_rows(table):
        count += rows.count(b"\n")  # a line end within a value is escaped
        file.write_rows(changes.apply(rows))
    return count


def read_rows(table: Table) -> Iterator[bytes]:
    """Yield the rows as COPY writes them, about a megabyte at a time."""
    expressions = sql.SQL(", ").join(
        sql.SQL(EXPRESSIONS[table.name, column].format(condition=table.condition))
        if (table.name, column) in EXPRESSIONS
        else sql.Identifier(column)
        for column in table.columns
    )
    statement = sql.SQL("COPY (SELECT {} FROM {} WHERE {}) TO STDOUT").format(
        expressions, sql.Identifier(table.name), sql.SQL(table.condition)
    )
    waiting, size = [], 0
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in copy:
            waiting.append(bytes(row))
            size += len(row)
            if size >= FRAME_BYTES:
                yield b"".join(waiting)
                waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)
