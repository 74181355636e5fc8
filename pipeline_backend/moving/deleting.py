"""Deleting an organization: its rows in short transactions, then the accounts that belong to no one else."""

import time
from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.contrib.admin.models import LogEntry
from django.db import connection, transaction
from psycopg import sql

from organizations.models import Membership, Organization, User
from pipeline_backend.moving import Progress, Refused
from pipeline_backend.moving.pausing import wait_until_quiet
from pipeline_backend.moving.tables import ORGANIZATION, Catalog, Table

# A batch grows or shrinks, so that a transaction lasts about this long. Where other tables refer to a row by a column
# without an index, PostgreSQL reads these tables for each row.
BATCH_SECONDS = 0.5
FIRST_BATCH, LARGEST_BATCH = 50, 5000
# Deleting leads and others changes the numbers of rows that triggers keep, and a request that began before the
# organization became inactive may have added a row.
MOST_ROUNDS = 5


def count_rows(organization: Organization) -> dict[str, int]:
    """Return the number of the organization's rows in each table that has any."""
    with connection.cursor() as cursor:
        counts = {table.name: count_table(cursor, table) for table in Catalog().tables(organization.pk)}
    return {name: count for name, count in counts.items() if count}


def count_table(cursor: Any, table: Table) -> int:  # noqa: ANN401  # Django's cursors have no type
    cursor.execute(f"SELECT count(*) FROM {table.name} WHERE {table.condition}")  # noqa: S608  # names of the catalog
    return int(cursor.fetchone()[0])


def delete_organization(*, organization: Organization, progress: Progress) -> None:
    """Delete everything that belongs to the organization, and accounts of people who are in no other one.

    It becomes inactive first. Interrupted, it continues when it is called again. Raises Refused as `wait_until_quiet`
    does, and if a table still has the organization's id at the end.
    """
    Organization.objects.filter(pk=organization.pk).update(is_active=False)
    wait_until_quiet(organization)
    delete_rows(organization.pk, progress, keep=[Membership._meta.db_table])
    progress(f"accounts: {delete_members(organization)} deleted")
    delete_rows(organization.pk, progress)
    if found := find_everywhere(str(organization.pk)):
        raise Refused(f"{', '.join(found)}: rows have the organization's id")


def delete_rows(organization_id: UUID, progress: Progress, keep: Collection[str] = ()) -> None:
    """Delete the organization's rows, and itself unless tables are to be kept."""
    catalog = Catalog()
    tables = catalog.tables(organization_id)
    others = [table for table in reversed(tables) if table.name not in (ORGANIZATION, *keep)]
    for _ in range(MOST_ROUNDS):
        counts = {table.name: delete_table(table) for table in others}
        for name, count in counts.items():
            if count:
                progress(f"{name}: {count:,} rows deleted")
        if not any(counts.values()):
            break
    if not keep:
        delete_table(catalog.table(ORGANIZATION, catalog.condition(ORGANIZATION, organization_id)))


def delete_table(table: Table) -> int:
    """Delete the organization's rows, each batch in a transaction; return how many."""
    count, size = 0, FIRST_BATCH
    delete = sql.SQL("DELETE FROM {} WHERE {} = ANY (%s)").format(sql.Identifier(table.name), sql.Identifier(table.key))
    batch: list[Any] = []
    while batch := next_keys(table, batch, size):
        started = time.monotonic()
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(delete, [batch])
            count += cursor.rowcount
        fits = BATCH_SECONDS / max(time.monotonic() - started, 0.001)
        size = max(1, min(LARGEST_BATCH, int(len(batch) * min(fits, 4))))
    return count


def next_keys(table: Table, previous: list[Any], size: int) -> list[Any]:
    """Return the primary keys of up to `size` of the organization's rows that follow the previous ones."""
    following = sql.SQL("AND {} > %s").format(sql.Identifier(table.key)) if previous else sql.SQL("")
    select = sql.SQL("SELECT {key} FROM {table} WHERE ({condition}) {following} ORDER BY {key} LIMIT %s").format(
        key=sql.Identifier(table.key),
        table=sql.Identifier(table.name),
        condition=sql.SQL(table.condition),
        following=following,
    )
    with connection.cursor() as cursor:
        cursor.execute(select, [*previous[-1:], size])
        return [key for (key,) in cursor.fetchall()]


def delete_members(organization: Organization) -> int:
    """Delete the memberships, each with the account unless it is an operator's or a member's elsewhere.

    Returns the number of accounts. A membership and its account are deleted in one transaction: if the deletion is
    interrupted, no account stays behind without a membership.
    """
    count = 0
    for member in list(Membership.objects.of(organization)):
        with transaction.atomic():
            member.delete()
            # Locked before its memberships are read, because the person may be accepting another invitation. In one
            # statement, PostgreSQL would not see the new membership: it waits for the lock, and reads nothing again.
            account = User.objects.select_for_update().get(pk=member.user_id)
            if not account.is_superuser and not account.memberships.exists():
                LogEntry.objects.filter(content_type__model="user", object_id=member.user_id).delete()
                User.objects.filter(pk=member.user_id).delete()
                count += 1
    return count


def find_everywhere(text: str) -> list[str]:
    """Return the tables of the database that have the text in any row. Reads all tables."""
    search = "SELECT EXISTS (SELECT FROM {table} WHERE strpos({table}::text, %s) > 0)"
    found = []
    with connection.cursor() as cursor:
        for name in sorted(Catalog().columns):
            cursor.execute(sql.SQL(search).format(table=sql.Identifier(name)), [text])
            if cursor.fetchone() == (True,):
                found.append(name)
    return found
