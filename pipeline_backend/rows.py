"""Rows: read and written by statements that are compiled once, also while others write the same."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, Generic, TypeVar

import orjson
from django.db import IntegrityError, OperationalError, connection, models, transaction
from django.db.models import Expression, QuerySet, Value
from django.db.models.query import ModelIterable, get_related_populators
from psycopg.errors import DeadlockDetected, SerializationFailure

INSERT = "INSERT INTO {table} ({names}) SELECT {names} FROM json_populate_recordset(NULL::{table}, %s::json)"
TOGETHER = "SELECT {columns} FROM (SELECT) AS one {joins}"
UPDATE = "UPDATE {table} SET {changes} WHERE id = %s"

Row = TypeVar("Row")
Model = TypeVar("Model", bound=models.Model)
Answer = TypeVar("Answer")


class Slot(Expression):
    """A place in a fixed statement for a value that is given when it runs; with a type where the database can't infer it."""

    def __init__(self, name: str, type: str = "", *, is_list: bool = False) -> None:
        super().__init__(output_field=models.TextField())
        self.name = name
        self.type = type
        self.is_list = is_list

    def typed(self, type: str) -> "Slot":
        """The same place, for a value of this type."""
        return Slot(self.name, type, is_list=self.is_list)

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        """A parameter."""
        return f"%s::{self.type}" if self.type else "%s", [self]


class Hidden(Slot):
    """A place whose value the planner doesn't see either, so that it never plans anew for a value that seems rare."""

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        """A subselect, which is run and not planned with."""
        sql, slots = super().as_sql(compiler, connection)
        return f"(SELECT {sql})", slots


def as_value(given: Any) -> Expression:
    """A slot as it is, anything else as a value of the statement."""
    return given if isinstance(given, Slot) else Value(given)


def filled(parameters: Iterable[Any], values: dict[str, Any]) -> list[Any]:
    """The parameters, with the values in their slots."""
    return [values[one.name] if isinstance(one, Slot) else one for one in parameters]


@models.Field.register_lookup
class AnyOf(models.Lookup):
    """`field__any=Slot(…)`: equal to one of a list, in a statement that is the same for lists of every length."""

    lookup_name = "any"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        """With the list as one parameter."""
        (left, before), (right, after) = self.process_lhs(compiler, connection), compiler.compile(self.rhs)
        return f"{left} = ANY({right})", [*before, *after]


class Fixed(Generic[Row]):
    """A query whose SQL is compiled once, because compiling it takes Django longer than running it takes the database.

    `make` gives the queryset, with a `Slot` for each value; it runs when the statement is first needed.
    """

    def __init__(self, make: Callable[[], QuerySet[Any, Any]]) -> None:
        self.make = make
        self.width = 0

    @cached_property
    def compiled(self) -> tuple[str, Sequence[Any], Any, Any]:
        """The statement, its parameters, what turns columns into Python's values, and rows into objects."""
        queryset = self.make()
        compiler = queryset.query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        build = objects(compiler) if queryset._iterable_class is ModelIterable else tuple
        self.width = len(compiler.select)
        return sql, parameters, compiler.get_converters([column[0] for column in compiler.select]), build

    @property
    def sql(self) -> tuple[str, Sequence[Any]]:
        """The statement and its slots, to stand in a larger one."""
        return self.compiled[:2]

    def all(self, **values: Any) -> list[Row]:
        """Every row: an object, or a tuple if the query asks for values."""
        sql, parameters = self.sql
        with connection.cursor() as cursor:
            cursor.execute(sql, filled(parameters, values))
            rows = cursor.fetchall()
        return self.built(rows)

    def built(self, rows: Iterable[Sequence[Any]]) -> list[Row]:
        """What the rows say: objects, or tuples."""
        _, _, converters, build = self.compiled
        return [build(row) for row in (converted(rows, converters) if converters else rows)]

    def first(self, **values: Any) -> Row | None:
        """The first row, or None."""
        return next(iter(self.all(**values)), None)


class Together:
    """Queries that find a row or none each, asked in one statement: to send it costs more than to run most of them."""

    def __init__(self, *queries: Fixed[Any]) -> None:
        self.queries = queries

    @cached_property
    def sql(self) -> tuple[str, list[Any]]:
        """The statement, with its slots: what the queries find stands side by side in one row."""
        parts = [query.sql for query in self.queries]
        joins = " ".join(f"LEFT JOIN ({sql}) AS part{number} ON true" for number, (sql, _) in enumerate(parts))
        columns = ", ".join(f"part{number}.*" for number in range(len(parts)))
        return TOGETHER.format(columns=columns, joins=joins), [slot for _, slots in parts for slot in slots]

    def first(self, **values: Any) -> list[Any]:
        """What each query finds, in their order: an object, a tuple, or None."""
        sql, parameters = self.sql
        with connection.cursor() as cursor:
            cursor.execute(sql, filled(parameters, values))
            row = cursor.fetchone()
        found, start = [], 0
        for query in self.queries:
            part = row[start : start + query.width]
            start += query.width
            found.append(None if part.count(None) == len(part) else query.built([part])[0])
        return found


def converted(rows: Iterable[Sequence[Any]], converters: dict[int, Any]) -> Iterator[list[Any]]:
    """The rows, with those columns as Python's values that psycopg does not know (JSON, encrypted text)."""
    for row in map(list, rows):
        for place, (steps, expression) in converters.items():
            for step in steps:
                row[place] = step(row[place], expression, connection)
        yield row


def objects(compiler: Any) -> Callable[[Sequence[Any]], Any]:
    """What makes an object of a row, with those it selects beside it."""
    klass = compiler.klass_info
    start, end = klass["select_fields"][0], klass["select_fields"][-1] + 1
    names = [column[0].target.attname for column in compiler.select[start:end]]
    related = get_related_populators(klass, compiler.select, connection.alias)  # type: ignore[call-arg]  # the stubs are newer

    def build(row: Sequence[Any]) -> Any:
        made = klass["model"].from_db(connection.alias, names, row[start:end])
        for populator in related:
            populator.populate(row, made)
        return made

    return build


def insert(*rows: models.Model, yields: bool = False) -> bool:
    """Write new rows, of any tables, in one statement; False if they yielded to another's with the same unique value.

    References between them hold: PostgreSQL checks foreign keys at the statement's end. Nothing else of Django's `save`
    happens: no signals, no defaults of the database read back, no field's own way of writing a value (encryption).
    """
    if not rows:
        return False
    tables: dict[type[models.Model], list[models.Model]] = {}
    for row in rows:
        tables.setdefault(type(row), []).append(row)
    statement = insertion(tuple(tables), yields)
    values = [as_json(model, same) for model, same in tables.items()]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        is_written: bool = cursor.rowcount > 0
    for row in rows:
        row._state.adding, row._state.db = False, connection.alias
    return is_written


def update(row: models.Model, *names: str) -> None:
    """Write these columns of a row that is locked."""
    model = type(row)
    values = [given(model._meta.get_field(name), row) for name in names]
    with connection.cursor() as cursor:
        cursor.execute(change(model, names), [*values, row.pk])


@cache
def change(model: type[models.Model], names: tuple[str, ...]) -> str:
    """The statement that changes those columns of one row."""
    quote = connection.ops.quote_name
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    changes = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    return UPDATE.format(table=quote(model._meta.db_table), changes=changes)


@cache
def written(model: type[models.Model]) -> tuple[list[str], Callable[[Any], tuple[Any, ...]]]:
    """The columns that an insert names, and what reads them of a row; the database fills in the others."""
    fields = [field for field in model._meta.concrete_fields if not field.has_db_default()]
    return [str(field.column) for field in fields], attrgetter(*(field.attname for field in fields))


def as_json(model: type[models.Model], rows: list[models.Model]) -> str:
    """One parameter, however many rows and columns: psycopg parses a statement of many each time anew."""
    columns, read = written(model)
    return orjson.dumps([dict(zip(columns, read(row), strict=True)) for row in rows]).decode()


def given(field: Any, row: models.Model) -> Any:
    """The column's value as psycopg takes it."""
    return field.get_db_prep_save(field.pre_save(row, add=False), connection)


@cache
def insertion(tables: tuple[type[models.Model], ...], yields: bool) -> str:
    """The statement that inserts rows into these tables, however many into each."""
    *others, last = [insertion_into(model) for model in tables]
    members = ", ".join(f"part{number} AS ({text})" for number, text in enumerate(others))
    return (f"WITH {members} " if members else "") + last + (" ON CONFLICT DO NOTHING" if yields else "")


def insertion_into(model: type[models.Model]) -> str:
    """The part for one table."""
    quote = connection.ops.quote_name
    names = ", ".join(map(quote, written(model)[0]))
    return INSERT.format(table=quote(model._meta.db_table), names=names)


def find_or_insert(find: Callable[[], Model | None], fresh: Model) -> tuple[Model, bool]:
    """The row that `find` finds, or `fresh`; True if it was inserted here."""
    row = find()
    return (row, False) if row is not None else insert_or_find(fresh, find)


def insert_or_find(fresh: Model, find: Callable[[], Model | None]) -> tuple[Model, bool]:
    """The same for a row that was not there a moment ago.

    The insert yields to a simultaneous one (ON CONFLICT DO NOTHING); then there is something to find.
    """
    if insert(fresh, yields=True):
        return fresh, True
    row = find()
    if row is None:
        raise IntegrityError("the row that was there is gone again")  # settle_race asks once more
    return row, False


def settle_race(attempt: Callable[[], Answer]) -> Answer:
    """Run a transaction; once more if another inserted the same row first, or PostgreSQL gave it up for a deadlock."""
    try:
        with transaction.atomic():
            return attempt()
    except IntegrityError:
        pass
    except OperationalError as error:
        if not was_given_up(error):
            raise
    with transaction.atomic():
        return attempt()


def was_given_up(error: OperationalError) -> bool:
    """Whether PostgreSQL rolled the transaction back for the sake of another, so that it is worth doing again."""
    return isinstance(error.__cause__, DeadlockDetected | SerializationFailure)
