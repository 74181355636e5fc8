"""All rows of an organization, and a search for texts in all tables of a database."""

import json
from typing import Any
from uuid import UUID

from django.contrib.contenttypes.models import ContentType
from django.db import connection
from psycopg import sql

from foundation.db.encryption import cipher
from pipeline_backend.moving.columns import encrypted_columns
from pipeline_backend.moving.tables import Catalog

# These say where the organization is, or are numbers of the database.
OWN = {"organizations_organization": {"is_active", "move"}, "webhooks_event": {"transaction"}}
SELECT = "SELECT to_jsonb({table})::text FROM {table} WHERE {condition}"
SEARCH = """
SELECT count(*) FROM {table} WHERE EXISTS (SELECT FROM unnest(%s::text[]) AS id WHERE strpos({table}::text, id) > 0)
"""

Row = dict[str, Any]


def rows_of(organization_id: UUID) -> dict[str, list[Row]]:
    """Return the organization's rows by table, with secrets decrypted and content types by name."""
    names = {row.pk: str(row) for row in ContentType.objects.all()}
    rows = {}
    for table in Catalog().tables(organization_id):
        secrets = encrypted_columns(table.name)
        columns = [name for name in table.columns if name not in OWN.get(table.name, ())]
        found = [{name: row[name] for name in columns} for row in select(table.name, table.condition)]
        for row in found:
            row |= {name: cipher().decrypt(row[name]).decode() for name in secrets if row[name]}
            if "content_type_id" in row:
                row["content_type_id"] = names[row["content_type_id"]]
        rows[table.name] = sorted(found, key=json.dumps)
    return rows


def select(table: str, condition: str) -> list[Row]:
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL(SELECT).format(table=sql.Identifier(table), condition=sql.SQL(condition))  # type: ignore[arg-type]
        )
        return [json.loads(text) for (text,) in cursor.fetchall()]


def ids_in(rows: dict[str, list[Row]]) -> set[str]:
    """Return the rows' own ids; numbers could be found anywhere by chance."""
    ids = {str(row[Catalog().keys[table]]) for table, found in rows.items() for row in found if "id" in row}
    return {id for id in ids if len(id) > 10}


def tables_with(texts: set[str]) -> dict[str, int]:
    """Return how many rows of each table of the database have one of the texts anywhere."""
    counts = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(sql.SQL(SEARCH).format(table=sql.Identifier(table)), [list(texts)])
            counts[table] = cursor.fetchone()[0]
    return {table: count for table, count in counts.items() if count}
