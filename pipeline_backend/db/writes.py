"""Bulk inserts and updates in one statement each, and inserts that yield to simultaneous ones."""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

import orjson
from django.db import IntegrityError, connection, models

INSERT = "INSERT INTO {table} ({names}) SELECT {names} FROM json_populate_recordset(NULL::{table}, %s::json)"


UPDATE = "UPDATE {table} SET {changes} WHERE id = %s"


Model = TypeVar("Model", bound=models.Model)


def insert_all(*rows: models.Model, yields: bool = False) -> bool:
    """Write new rows, of any tables, in one statement; False if they yielded to another's with the same unique value.

    References between them hold: PostgreSQL checks foreign keys at the statement's end. Nothing else of Django's `save`
    happens: no signals, no defaults of the database read back, no field's own way of writing a value (encryption).
    """
    if not rows:
        return False
    tables: dict[type[models.Model], list[models.Model]] = {}
    for row in rows:
        tables.setdefault(type(row), []).append(row)
    statement = insert_sql(tuple(tables), yields)
    values = [rows_as_json(model, same) for model, same in tables.items()]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        is_written: bool = cursor.rowcount > 0
    for row in rows:
        row._state.adding, row._state.db = False, connection.alias
    return is_written


def update_columns(row: models.Model, *names: str) -> None:
    """Write these columns of a row that is locked."""
    model = type(row)
    values = [db_value(model._meta.get_field(name), row) for name in names]
    with connection.cursor() as cursor:
        cursor.execute(update_sql(model, names), [*values, row.pk])


@cache
def update_sql(model: type[models.Model], names: tuple[str, ...]) -> str:
    """The statement that changes those columns of one row."""
    quote = connection.ops.quote_name
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    changes = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    return UPDATE.format(table=quote(model._meta.db_table), changes=changes)


@cache
def insert_columns(model: type[models.Model]) -> tuple[list[str], Callable[[Any], tuple[Any, ...]]]:
    """The columns that an insert names, and what reads them of a row; the database fills in the others."""
    fields = [field for field in model._meta.concrete_fields if not field.has_db_default()]
    return [str(field.column) for field in fields], attrgetter(*(field.attname for field in fields))


def rows_as_json(model: type[models.Model], rows: list[models.Model]) -> str:
    """One parameter, however many rows and columns: psycopg parses a statement of many each time anew."""
    columns, read = insert_columns(model)
    return orjson.dumps([dict(zip(columns, read(row), strict=True)) for row in rows]).decode()


def db_value(field: Any, row: models.Model) -> Any:
    """The column's value as psycopg takes it."""
    return field.get_db_prep_save(field.pre_save(row, add=False), connection)


@cache
def insert_sql(tables: tuple[type[models.Model], ...], yields: bool) -> str:
    """The statement that inserts rows into these tables, however many into each."""
    *others, last = [insert_into_sql(model) for model in tables]
    members = ", ".join(f"part{number} AS ({text})" for number, text in enumerate(others))
    return (f"WITH {members} " if members else "") + last + (" ON CONFLICT DO NOTHING" if yields else "")


def insert_into_sql(model: type[models.Model]) -> str:
    """The part for one table."""
    quote = connection.ops.quote_name
    names = ", ".join(map(quote, insert_columns(model)[0]))
    return INSERT.format(table=quote(model._meta.db_table), names=names)


def get_or_insert(find: Callable[[], Model | None], fresh: Model) -> tuple[Model, bool]:
    """The row that `find` finds, or `fresh`; True if it was inserted here."""
    row = find()
    return (row, False) if row is not None else insert_or_get(fresh, find)


def insert_or_get(fresh: Model, find: Callable[[], Model | None]) -> tuple[Model, bool]:
    """The same for a row that was not there a moment ago.

    The insert yields to a simultaneous one (ON CONFLICT DO NOTHING); then there is something to find.
    """
    if insert_all(fresh, yields=True):
        return fresh, True
    row = find()
    if row is None:
        raise IntegrityError("the row that was there is gone again")  # settle_race asks once more
    return row, False
