"""Bulk inserts and single-row updates in one statement each, and inserts that tolerate a concurrent one.

They replace `save` and `bulk_create` on hot paths. What of Django's they don't do is in `insert_all`.
"""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

import orjson
from django.db import IntegrityError, connection, models

INSERT = "INSERT INTO {table} ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::{table}, %s::json)"
UPDATE = "UPDATE {table} SET {assignments} WHERE id = %s"

Model = TypeVar("Model", bound=models.Model)


def insert_all(*rows: models.Model, on_conflict_do_nothing: bool = False) -> bool:
    """Insert new rows, of any tables, in one statement.

    Returns False if ON CONFLICT DO NOTHING skipped the insert. Rows may refer to each other, because PostgreSQL checks
    foreign keys at the end of the statement. Signals, database defaults read back and a field's own way of writing a
    value (encryption) are left out.
    """
    if not rows:
        return False
    rows_by_model: dict[type[models.Model], list[models.Model]] = {}
    for row in rows:
        rows_by_model.setdefault(type(row), []).append(row)
    sql = insert_sql(tuple(rows_by_model), on_conflict_do_nothing)
    with connection.cursor() as cursor:
        cursor.execute(sql, [rows_as_json(model, group) for model, group in rows_by_model.items()])
        is_inserted: bool = cursor.rowcount > 0
    for row in rows:
        row._state.adding, row._state.db = False, connection.alias
    return is_inserted


@cache
def insert_sql(tables: tuple[type[models.Model], ...], on_conflict_do_nothing: bool) -> str:
    """Return the statement that inserts into these tables, whatever the number of rows for each."""
    # All inserts but the last are CTEs, so that one round trip writes every table.
    *others, last = [insert_into_sql(model) for model in tables]
    ctes = ", ".join(f"insert_{number} AS ({sql})" for number, sql in enumerate(others))
    return (f"WITH {ctes} " if ctes else "") + last + (" ON CONFLICT DO NOTHING" if on_conflict_do_nothing else "")


def insert_into_sql(model: type[models.Model]) -> str:
    """Return the INSERT for one table, which reads its rows from a JSON parameter."""
    quote = connection.ops.quote_name
    columns = ", ".join(map(quote, insert_columns(model)[0]))
    return INSERT.format(table=quote(model._meta.db_table), columns=columns)


@cache
def insert_columns(model: type[models.Model]) -> tuple[list[str], Callable[[models.Model], tuple[object, ...]]]:
    """Return the columns to insert, and a function that reads their values; database defaults fill in the others."""
    fields = [field for field in model._meta.concrete_fields if not field.has_db_default()]
    return [str(field.column) for field in fields], attrgetter(*(field.attname for field in fields))


def rows_as_json(model: type[models.Model], rows: list[models.Model]) -> str:
    """Return the rows as one JSON parameter."""
    # psycopg parses the placeholders of a statement on every call, so one parameter is faster than fifty.
    columns, read_values = insert_columns(model)
    return orjson.dumps([dict(zip(columns, read_values(row), strict=True)) for row in rows]).decode()


def update_columns(row: models.Model, *names: str) -> None:
    """Write the named fields of one row. The caller holds the row lock."""
    model = type(row)
    values = [db_value(model._meta.get_field(name), row) for name in names]
    with connection.cursor() as cursor:
        cursor.execute(update_sql(model, names), [*values, row.pk])


@cache
def update_sql(model: type[models.Model], names: tuple[str, ...]) -> str:
    """Return the statement that updates these fields of one row."""
    quote = connection.ops.quote_name
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    assignments = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    return UPDATE.format(table=quote(model._meta.db_table), assignments=assignments)


def db_value(field: Any, row: models.Model) -> Any:  # noqa: ANN401  # the types differ by field
    """Return the field's value as psycopg accepts it."""
    return field.get_db_prep_save(field.pre_save(row, add=False), connection)


def get_or_insert(find: Callable[[], Model | None], new: Model) -> tuple[Model, bool]:
    """Return the row that `find` finds, or insert `new`; with True if it was inserted."""
    row = find()
    return (row, False) if row is not None else insert_or_get(new, find)


def insert_or_get(new: Model, find: Callable[[], Model | None]) -> tuple[Model, bool]:
    """Insert `new`, or return the row that a concurrent transaction inserted first; with True if it was inserted.

    Raises IntegrityError if that row is gone again; `atomic_with_retry` then runs the transaction once more.
    """
    if insert_all(new, on_conflict_do_nothing=True):
        return new, True
    # The insert has waited for the other transaction's commit, so its row is visible now.
    row = find()
    if row is None:
        raise IntegrityError("the conflicting row has been deleted")
    return row, False
