"""Rows: read and written by statements that are compiled once, also while others write the same."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, Generic, TypeVar

from django.db import IntegrityError, OperationalError, connection, models, transaction
from django.db.models import Expression, QuerySet, Value
from django.db.models.query import ModelIterable, get_related_populators
from psycopg.errors import DeadlockDetected, SerializationFailure

INSERT = "INSERT INTO {table} ({names}) VALUES {rows}"
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

    @cached_property
    def compiled(self) -> tuple[str, Sequence[Any], Any, Any]:
        """The statement, its parameters, what turns columns into Python's values, and rows into objects."""
        queryset = self.make()
        compiler = queryset.query.get_compiler(connection=connection)
        sql, parameters = compiler.as_sql()
        build = objects(compiler) if queryset._iterable_class is ModelIterable else tuple
        return sql, parameters, compiler.get_converters([column[0] for column in compiler.select]), build

    @property
    def sql(self) -> tuple[str, Sequence[Any]]:
        """The statement and its slots, to stand in a larger one."""
        return self.compiled[:2]

    def all(self, **values: Any) -> list[Row]:
        """Every row: an object, or a tuple if the query asks for values."""
        sql, parameters, converters, build = self.compiled
        with connection.cursor() as cursor:
            cursor.execute(sql, filled(parameters, values))
            rows: Iterable[Any] = cursor.fetchall()
        return [build(row) for row in (converted(rows, converters) if converters else rows)]

    def first(self, **values: Any) -> Row | None:
        """The first row, or None."""
        return next(iter(self.all(**values)), None)


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
    happens: no signals, no defaults of the database read back.
    """
    tables: dict[type[models.Model], list[models.Model]] = {}
    for row in rows:
        tables.setdefault(type(row), []).append(row)
    statement = insertion(tuple((model, len(same)) for model, same in tables.items()), yields)
    values = [given(field, row) for model, same in tables.items() for row in same for field in written(model)]
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        is_written: bool = cursor.rowcount > 0
    for row in rows:
        row._state.adding, row._state.db = False, connection.alias
    return is_written


def update(row: models.Model, *names: str) -> None:
    """Write these columns of a row that is locked."""
    model = type(row)
    values = [given(model._meta.get_field(name), row, is_new=False) for name in names]
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
def written(model: type[models.Model]) -> list[Any]:
    """The columns that an insert names; the database fills in the others."""
    return [field for field in model._meta.concrete_fields if not field.has_db_default()]


def given(field: Any, row: models.Model, *, is_new: bool = True) -> Any:
    """The column's value as psycopg takes it."""
    return field.get_db_prep_save(field.pre_save(row, add=is_new), connection)


@cache
def insertion(tables: tuple[tuple[type[models.Model], int], ...], yields: bool) -> str:
    """The statement that inserts so many rows into each table."""
    *others, last = [insertion_into(model, count) for model, count in tables]
    members = ", ".join(f"part{number} AS ({text})" for number, text in enumerate(others))
    return (f"WITH {members} " if members else "") + last + (" ON CONFLICT DO NOTHING" if yields else "")


def insertion_into(model: type[models.Model], count: int) -> str:
    """The part for one table."""
    quote = connection.ops.quote_name
    names = ", ".join(quote(field.column) for field in written(model))
    row = "(" + ", ".join(["%s"] * len(written(model))) + ")"
    return INSERT.format(table=quote(model._meta.db_table), names=names, rows=", ".join([row] * count))


def find_or_insert(find: Callable[[], Model | None], fresh: Model) -> tuple[Model, bool]:
    """The row that `find` finds, or `fresh`; True if it was inserted here.

    The insert yields to a simultaneous one (ON CONFLICT DO NOTHING); then there is something to find.
    """
    row = find()
    if row is not None:
        return row, False
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
