"""Reading an organization from a file into this installation."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from psycopg import sql

from foundation.outbox import State
from organizations.models import Move, Organization, SecurityEventKind
from organizations.security_log import record_security_event
from pipeline_backend.moving import Progress, Refused
from pipeline_backend.moving.accounts import SIGN_IN_TABLES, People, import_people, record_differences
from pipeline_backend.moving.columns import imported_changes
from pipeline_backend.moving.deleting import count_table, delete_rows, next_keys
from pipeline_backend.moving.exporting import applied_migrations
from pipeline_backend.moving.files import Frame, read_frames
from pipeline_backend.moving.pausing import only_one
from pipeline_backend.moving.tables import ORGANIZATION, USER, Catalog, Table

JOBS_AT_ONCE = 2000
MOST_NAMED = 3


class TableRows(NamedTuple):
    """A table of the file; its rows are read as they are used."""

    name: str
    columns: list[str]
    rows: Iterator[bytes]


def import_organization(*, path: Path, key: bytes, by_email: bool, progress: Progress) -> Organization:
    """Create the organization of the file, and return it: active if it was paused to be moved.

    A copy of an organization that went on working stays inactive, and what it had still to send is canceled. Raises
    Refused, having changed nothing, if the file is not complete or of another version, if the organization exists, or
    as `import_people` does; and if the rows that arrived are not as many as the file's. An import that ended early
    begins anew.
    """
    information, counts = check_file(path, key)
    id = UUID(information["organization"])
    with only_one(id):
        if existing := Organization.objects.filter(pk=id).first():
            if existing.move != Move.IN:
                raise Refused(f"{existing} exists here; nothing was imported")
            progress(f"{existing}: deleting what an import that ended early has left")
            delete_rows(id, progress)
        importer = Importer(key, by_email, information, progress)
        importer.run(path)
        return finish(id, information, counts, importer.people)


def check_file(path: Path, key: bytes) -> tuple[dict[str, Any], dict[str, int]]:
    """Read the whole file; return what describes it, and its counts of rows. Raises Refused if it doesn't fit."""
    if not path.exists():
        raise Refused(f"There is no file {path}")
    frames = read_frames(path, key)
    information, last = next(frames).value, Frame(b"", {})
    for frame in frames:
        last = frame
    if differing := set(information["migrations"]) ^ set(applied_migrations()):
        names = ", ".join(sorted(differing)[:MOST_NAMED])
        raise Refused(
            f"The file is of version {information['version']}, whose tables differ ({names}). Both installations need "
            "the same version; bring the older one up to date, migrate, and export again"
        )
    return information, last.value["counts"]


def tables_of(frames: Iterator[Frame]) -> Iterator[TableRows]:
    """Yield the file's tables. The rows of each must be used before the next."""
    waiting = [next(frames)]  # the frame that names the next table

    def rows() -> Iterator[bytes]:
        for frame in frames:
            if frame.value:
                waiting.append(frame)
                return
            yield frame.rows

    while waiting:
        value = waiting.pop().value
        if "table" in value:
            yield TableRows(value["table"], value["columns"], rows())


class Importer:
    def __init__(self, key: bytes, by_email: bool, information: dict[str, Any], progress: Progress) -> None:
        self.key, self.by_email, self.information, self.progress = key, by_email, information, progress
        self.catalog = Catalog()
        self.people = People(set(), {}, {})

    def run(self, path: Path) -> None:
        frames = read_frames(path, self.key)
        next(frames)
        accounts: list[tuple[str, list[str], bytes]] = []
        for table in tables_of(frames):
            if table.name in (USER, *SIGN_IN_TABLES):
                accounts.append((table.name, table.columns, b"".join(table.rows)))
            elif table.name == ORGANIZATION:
                self.begin(accounts, table)
            else:
                self.copy_table(table)
            self.progress(table.name)

    @transaction.atomic
    def begin(self, accounts: list[tuple[str, list[str], bytes]], organization: TableRows) -> None:
        """Create the accounts and the organization, inactive and marked."""
        for name, columns, rows in accounts:
            if name == USER:
                self.people = import_people(rows, columns, self.information["members"], by_email=self.by_email)
            else:
                self.copy(name, columns, self.rows_of_new_people(columns, rows))
        self.copy(organization.name, organization.columns, b"".join(organization.rows))
        Organization.objects.filter(pk=self.information["organization"]).update(is_active=False, move=Move.IN)

    def rows_of_new_people(self, columns: list[str], rows: bytes) -> bytes:
        position = columns.index("user_id")
        lines = rows.splitlines(keepends=True)
        return b"".join(line for line in lines if line.rstrip(b"\n").split(b"\t")[position].decode() in self.people.new)

    def copy_table(self, table: TableRows) -> None:
        """Copy the rows in transactions of a frame each; in a single one if rows refer to others of the table."""
        if table.name not in self.catalog.columns:
            raise Refused(f"There is no table {table.name} here")
        is_single = bool(self.catalog.columns_of(table.name, table.name))
        with transaction.atomic() if is_single else nullcontext():
            if is_single:
                with connection.cursor() as cursor:
                    cursor.execute("SET CONSTRAINTS ALL DEFERRED")
            for rows in table.rows:
                self.copy(table.name, table.columns, rows)

    def copy(self, name: str, columns: list[str], rows: bytes) -> None:
        changes = imported_changes(self.catalog, name, columns, self.key, self.people.others)
        statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
            sql.Identifier(name), sql.SQL(", ").join(map(sql.Identifier, columns))
        )
        with connection.wrap_database_errors, connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(changes.apply(rows))


def finish(id: UUID, information: dict[str, Any], counts: dict[str, int], people: People) -> Organization:
    """Compare the counts, and end the import. Raises Refused if a table has another number of rows."""
    tables = [table for table in Catalog().tables(id) if table.name in counts]
    with connection.cursor() as cursor:
        differing = [table.name for table in tables if count_table(cursor, table) != counts[table.name]]
    if differing:
        raise Refused(f"{', '.join(differing)}: the number of rows is not that of the file; import again")
    if information["is_copy"]:
        cancel_jobs(tables)
    with transaction.atomic():
        Organization.objects.filter(pk=id).update(is_active=information["becomes_active"], move="")
        organization = Organization.objects.get(pk=id)
        record_differences(organization, people)
        record_security_event(
            SecurityEventKind.ORGANIZATION_CHANGED, organization=organization, details="imported from a file"
        )
    return organization


def cancel_jobs(tables: list[Table]) -> None:
    """Cancel what a copy had still to send: the original sends it."""
    cancel = sql.SQL(
        "UPDATE {} SET state = %s, next_attempt_at = NULL, lease_token = NULL, finished_at = now() "
        "WHERE {} = ANY (%s) AND state = %s"
    )
    for table in tables:
        if "lease_token" not in table.columns:
            continue
        batch: list[Any] = []
        while batch := next_keys(table, batch, JOBS_AT_ONCE):
            with connection.cursor() as cursor:
                names = sql.Identifier(table.name), sql.Identifier(table.key)
                cursor.execute(cancel.format(*names), [State.CANCELED, batch, State.PENDING])
