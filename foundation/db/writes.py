"""Inserts of rows of several tables in one statement, inserts that tolerate a concurrent one, and updates of many rows.

For the benchmarks "create an appointment", "submit an opt-in" and "events delivered"; updates for imports.
"""

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from typing import TypeVar

import orjson
from django.core.serializers.json import DjangoJSONEncoder
from django.db import IntegrityError, connection, models

from foundation.db.encryption import EncryptedField
from foundation.db.prepared import preparing_cursor

INSERT = "INSERT INTO {table} ({columns}) SELECT {columns} FROM json_populate_recordset(NULL::{table}, %s::json)"
UPDATE = """
UPDATE {table} AS stored SET {values}
FROM json_populate_recordset(NULL::{table}, %s::json) AS changed
WHERE stored.id = changed.id
"""

Model = TypeVar("Model", bound=models.Model)


def insert_all(*rows: models.Model, on_conflict_do_nothing: bool = False) -> bool:
    """Insert new rows, of any tables, in one statement.

    With `on_conflict_do_nothing`, inserts nothing and returns False if the first row, the only one of its table, exists
    already. Rows may refer to each other, because PostgreSQL checks foreign keys at the end of the statement. Signals,
    database defaults read back and a field's own way of writing a value are left out. Raises TypeError for a model with
    encrypted fields, which would be stored in clear text.
    """
    if not rows:
        return False
    rows_by_model: dict[type[models.Model], list[models.Model]] = {}
    for row in rows:
        rows_by_model.setdefault(type(row), []).append(row)
    sql = insert_sql(tuple(rows_by_model), on_conflict_do_nothing)
    with preparing_cursor() as cursor:
        cursor.execute(sql, [rows_as_json(model, group) for model, group in rows_by_model.items()])
        is_inserted: bool = cursor.rowcount > 0
    for row in rows:
        row._state.adding, row._state.db = False, connection.alias
    return is_inserted


@cache
def insert_sql(tables: tuple[type[models.Model], ...], on_conflict_do_nothing: bool) -> str:
    """Return the statement that inserts into these tables; it has a JSON parameter with the rows of each."""
    quote = connection.ops.quote_name
    statements = [
        INSERT.format(table=quote(model._meta.db_table), columns=", ".join(map(quote, insert_columns(model))))
        for model in tables
    ]
    if on_conflict_do_nothing:
        first, *others = statements
        others = [f"{other} WHERE EXISTS (SELECT FROM insert_0)" for other in others]
        statements = [f"{first} ON CONFLICT DO NOTHING RETURNING id", *others]
    *others, last = statements
    # All inserts but the last are CTEs, so that one round trip writes every table.
    ctes = ", ".join(f"insert_{number} AS ({sql})" for number, sql in enumerate(others))
    return (f"WITH {ctes} " if ctes else "") + last


@cache
def insert_columns(model: type[models.Model]) -> dict[str, str]:
    """Return the columns to insert, with their attributes; database defaults fill in the others."""
    fields = [field for field in model._meta.concrete_fields if not field.has_db_default()]
    if any(isinstance(field, EncryptedField) for field in fields):
        raise TypeError(f"{model.__name__} has encrypted fields: use save()")
    return {str(field.column): field.attname for field in fields}


def update_all(rows: Sequence[models.Model], names: Collection[str]) -> None:
    """Store these attributes of rows of one table in one statement. Lock them before they are read.

    Django's `bulk_update` takes a millisecond of the processor for each row, as long as all else for a row of an import
    (`python -m benchmarks.imports`).
    """
    if not rows or not names:
        return
    quote, model = connection.ops.quote_name, type(rows[0])
    columns = {str(field.column): field.attname for field in model._meta.concrete_fields if field.attname in names}
    values = ", ".join(f"{quote(column)} = changed.{quote(column)}" for column in columns)
    with connection.cursor() as cursor:
        sql = UPDATE.format(table=quote(model._meta.db_table), values=values)
        cursor.execute(sql, [as_json(rows, {"id": "pk", **columns}.items())])


def rows_as_json(model: type[models.Model], rows: list[models.Model]) -> str:
    # psycopg parses the placeholders of a statement on every call, so one parameter is faster than fifty.
    return as_json(rows, insert_columns(model).items())


def as_json(rows: Iterable[models.Model], columns: Collection[tuple[str, str]]) -> str:
    values = [{column: getattr(row, name) for column, name in columns} for row in rows]
    try:
        return orjson.dumps(values).decode()
    except TypeError:
        # An integer of more than 64 bits: PostgreSQL returns a number such as 1e21 as one.
        return json.dumps(values, cls=DjangoJSONEncoder)


def insert_or_get(new: Model, find: Callable[[], Model | None], *dependents: models.Model) -> tuple[Model, bool]:
    """Insert `new` and return it with True, or return the existing row that `find` finds, with False.

    `dependents` are rows of other tables, which are inserted together with `new` or not at all. Raises IntegrityError
    if the existing row is gone again; `atomic_with_retry` then runs the transaction again.
    """
    if insert_all(new, *dependents, on_conflict_do_nothing=True):
        return new, True
    # The insert has waited for the other transaction's commit, so its row is visible now.
    row = find()
    if row is None:
        raise IntegrityError("the conflicting row has been deleted")
    return row, False
