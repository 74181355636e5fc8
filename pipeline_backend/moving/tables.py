"""The tables that have rows of an organization, as the database's foreign keys say."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from uuid import UUID

from django.contrib.contenttypes.models import ContentType
from django.db import connection

ORGANIZATION, USER, CONTENT_TYPE = "organizations_organization", "organizations_user", "django_content_type"
# The column of a composite key is its last one, after the organization.
FOREIGN_KEYS = """
SELECT child.relname, child_column.attname, parent.relname, parent_column.attname
FROM pg_constraint
JOIN pg_class AS child ON child.oid = conrelid
JOIN pg_class AS parent ON parent.oid = confrelid
JOIN pg_attribute AS child_column
    ON child_column.attrelid = conrelid AND child_column.attnum = conkey[cardinality(conkey)]
JOIN pg_attribute AS parent_column
    ON parent_column.attrelid = confrelid AND parent_column.attnum = confkey[cardinality(conkey)]
WHERE contype = 'f' AND connamespace = current_schema()::regnamespace
ORDER BY 1, 2
"""
# Without columns that the database numbers or computes: another installation has numbers of its own.
COLUMNS = """
SELECT relname, attname, coalesce(key.conrelid IS NOT NULL, false), format_type(atttypid, NULL),
    attidentity <> '' OR attgenerated <> ''
FROM pg_class
JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
LEFT JOIN pg_constraint AS key ON key.conrelid = pg_class.oid AND contype = 'p' AND attnum = ANY (conkey)
WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = current_schema()::regnamespace
ORDER BY 1, attnum
"""


@dataclass(frozen=True)
class Table:
    """A table, and the condition (SQL) for the rows that belong to the organization."""

    name: str
    key: str
    columns: tuple[str, ...]
    condition: str


@dataclass(frozen=True)
class ForeignKey:
    table: str
    column: str
    parent: str
    parent_column: str


class Catalog:
    """The tables of the connection's database."""

    def __init__(self) -> None:
        self.keys: dict[str, str] = {}
        self.types: dict[str, str] = {}  # of the keys
        self.columns: dict[str, list[str]] = defaultdict(list)
        with connection.cursor() as cursor:
            cursor.execute(FOREIGN_KEYS)
            self.foreign_keys = [ForeignKey(*row) for row in cursor.fetchall()]
            cursor.execute(COLUMNS)
            for table, column, is_key, type, is_numbered in cursor.fetchall():
                if is_key:
                    self.keys[table], self.types[table] = column, type
                if not is_numbered:
                    self.columns[table].append(column)

    def foreign_keys_of(self, table: str) -> list[ForeignKey]:
        return [key for key in self.foreign_keys if key.table == table]

    def columns_of(self, table: str, parent: str) -> list[str]:
        return [key.column for key in self.foreign_keys_of(table) if key.parent == parent]

    @cached_property
    def owned(self) -> list[str]:
        """Return the tables with rows of organizations, each after those that it refers to, and leaves last.

        Leaves are tables to which none refers. Triggers on other tables look into them, and find nothing yet.
        """
        owned = {ORGANIZATION}
        while more := {key.table for key in self.foreign_keys if key.parent in owned} - owned:
            owned |= more
        keys = [key for key in self.foreign_keys if {key.table, key.parent} <= owned and key.table != key.parent]
        parents = {key.parent for key in keys}
        graph = {name: {key.parent for key in keys if key.table == name} for name in sorted(owned)}
        return sorted(TopologicalSorter(graph).static_order(), key=lambda name: name not in parents)

    def condition(self, table: str, organization_id: UUID) -> str:
        """Return the condition for the organization's rows. A table without its id has it through what it refers to."""
        if table == ORGANIZATION:
            return f"id = '{organization_id}'"
        if columns := self.columns_of(table, ORGANIZATION):
            return f"{columns[0]} = '{organization_id}'"
        parents = [key for key in self.foreign_keys_of(table) if key.parent in self.owned and key.parent != table]
        return " OR ".join(
            self.exists(key.parent, key.parent_column, f"{table}.{key.column}", organization_id) for key in parents
        )

    def exists(self, table: str, column: str, value: str, organization_id: UUID) -> str:
        # Not IN, which PostgreSQL can evaluate anew for each row if the ids don't fit in its memory for a hash table.
        condition = self.condition(table, organization_id)
        return f"EXISTS (SELECT FROM {table} WHERE {table}.{column} = {value} AND ({condition}))"

    def tables(self, organization_id: UUID) -> list[Table]:
        """Return the tables in an order in which rows can be inserted; deleted in the reverse one."""
        tables = [self.table(name, self.condition(name, organization_id)) for name in self.owned]
        names = {key.table for key in self.foreign_keys if key.parent == CONTENT_TYPE}
        generic = [
            self.table(name, self.generic_condition(name, organization_id))
            for name in sorted(names)
            if "object_id" in self.columns[name]
        ]
        return [*tables, *generic]

    def table(self, name: str, condition: str) -> Table:
        return Table(name, self.keys[name], tuple(self.columns[name]), condition)

    def generic_condition(self, name: str, organization_id: UUID) -> str:
        """Return the condition for rows that name others by content type and id, as the admin's history does."""
        cases = "".join(
            f" WHEN {id} THEN "
            + self.exists(table, self.keys[table], f"{name}.object_id::{self.types[table]}", organization_id)
            for table, id in content_types().items()
            if table in self.owned
        )
        return f"CASE {name}.content_type_id{cases} ELSE false END"


def content_types() -> dict[str, int]:
    models = ((row.model_class(), row.pk) for row in ContentType.objects.order_by("pk"))
    return {model._meta.db_table: pk for model, pk in models if model}
