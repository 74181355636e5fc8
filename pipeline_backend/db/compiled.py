"""Rows: read and written by statements that are compiled once, also while others write the same."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db import connection, models
from django.db.models import Expression, QuerySet, Value
from django.db.models.query import ModelIterable, get_related_populators

COMBINED = "SELECT {columns} FROM (SELECT) AS one {joins}"

Row = TypeVar("Row")


class Param(Expression):
    """A place in a fixed statement for a value that is given when it runs; with a type where the database can't infer it."""

    def __init__(self, name: str, type: str = "", *, is_list: bool = False) -> None:
        super().__init__(output_field=models.TextField())
        self.name = name
        self.type = type
        self.is_list = is_list

    def typed(self, type: str) -> "Param":
        """The same place, for a value of this type."""
        return Param(self.name, type, is_list=self.is_list)

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        """A parameter."""
        return f"%s::{self.type}" if self.type else "%s", [self]


class OpaqueParam(Param):
    """A place whose value the planner doesn't see either, so that it never plans anew for a value that seems rare."""

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        """A subselect, which is run and not planned with."""
        sql, slots = super().as_sql(compiler, connection)
        return f"(SELECT {sql})", slots


def as_expression(given: Any) -> Expression:
    """A slot as it is, anything else as a value of the statement."""
    return given if isinstance(given, Param) else Value(given)


def bind(parameters: Iterable[Any], values: dict[str, Any]) -> list[Any]:
    """The parameters, with the values in their slots."""
    return [values[one.name] if isinstance(one, Param) else one for one in parameters]


@models.Field.register_lookup
class AnyOf(models.Lookup):
    """`field__any=Slot(…)`: equal to one of a list, in a statement that is the same for lists of every length."""

    lookup_name = "any"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        """With the list as one parameter."""
        (left, before), (right, after) = self.process_lhs(compiler, connection), compiler.compile(self.rhs)
        return f"{left} = ANY({right})", [*before, *after]


class CompiledQuery(Generic[Row]):
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
        build = row_factory(compiler) if queryset._iterable_class is ModelIterable else tuple
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
            cursor.execute(sql, bind(parameters, values))
            rows = cursor.fetchall()
        return self.built(rows)

    def built(self, rows: Iterable[Sequence[Any]]) -> list[Row]:
        """What the rows say: objects, or tuples."""
        _, _, converters, build = self.compiled
        return [build(row) for row in (apply_converters(rows, converters) if converters else rows)]

    def first(self, **values: Any) -> Row | None:
        """The first row, or None."""
        return next(iter(self.all(**values)), None)


class CombinedQuery:
    """Queries that find a row or none each, asked in one statement: to send it costs more than to run most of them."""

    def __init__(self, *queries: CompiledQuery[Any]) -> None:
        self.queries = queries

    @cached_property
    def sql(self) -> tuple[str, list[Any]]:
        """The statement, with its slots: what the queries find stands side by side in one row."""
        parts = [query.sql for query in self.queries]
        joins = " ".join(f"LEFT JOIN ({sql}) AS part{number} ON true" for number, (sql, _) in enumerate(parts))
        columns = ", ".join(f"part{number}.*" for number in range(len(parts)))
        return COMBINED.format(columns=columns, joins=joins), [slot for _, slots in parts for slot in slots]

    def first(self, **values: Any) -> list[Any]:
        """What each query finds, in their order: an object, a tuple, or None."""
        sql, parameters = self.sql
        with connection.cursor() as cursor:
            cursor.execute(sql, bind(parameters, values))
            row = cursor.fetchone()
        found, start = [], 0
        for query in self.queries:
            part = row[start : start + query.width]
            start += query.width
            found.append(None if part.count(None) == len(part) else query.built([part])[0])
        return found


def apply_converters(rows: Iterable[Sequence[Any]], converters: dict[int, Any]) -> Iterator[list[Any]]:
    """The rows, with those columns as Python's values that psycopg does not know (JSON, encrypted text)."""
    for row in map(list, rows):
        for place, (steps, expression) in converters.items():
            for step in steps:
                row[place] = step(row[place], expression, connection)
        yield row


def row_factory(compiler: Any) -> Callable[[Sequence[Any]], Any]:
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
