"""Querysets that are compiled to SQL once per process, instead of on every call.

Compiling a queryset takes Django longer than running it takes PostgreSQL. Only for what a benchmark needs it for, which
a comment beside the query names.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import connection, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, QuerySet
from django.db.models.query import ModelIterable, get_related_populators
from django.db.models.sql.compiler import SQLCompiler

from foundation.db.prepared import preparing_cursor

# The empty SELECT gives exactly one row, so that there is a result also if no query finds anything.
COMBINED = "SELECT {columns} FROM (SELECT) AS single_row {joins}"

Row = TypeVar("Row")
Params = list[Any]  # values, or a `Param` in their place
SQLWithParams = tuple[str, Any]  # the result of Django's `as_sql`


class Param(Expression):
    """A placeholder for a value that is passed when the statement runs.

    `type` is the PostgreSQL type to cast to, for places where the server can't infer it.
    """

    def __init__(self, name: str, type: str = "") -> None:
        super().__init__(output_field=models.TextField())
        self.name = name
        self.type = type

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper) -> SQLWithParams:
        """Return `%s`, with this object in the place of the value; `bind` replaces it."""
        return f"%s::{self.type}" if self.type else "%s", [self]


def bind(params: Iterable[object], values: Mapping[str, object]) -> Params:
    """Return the parameters with each `Param` replaced by its value."""
    return [values[param.name] if isinstance(param, Param) else param for param in params]


class CompiledStatement(NamedTuple):
    """The result of compiling a queryset; `to_objects` turns database rows into model instances or tuples."""

    sql: str
    params: Sequence[object]
    column_count: int
    to_objects: Callable[[Iterable[Sequence[Any]]], list[Any]]


class CompiledQuery(Generic[Row]):
    """A queryset that is compiled once and can run many times.

    `make_queryset` returns the queryset, with a `Param` for each value. It is called on first use, when the models are
    loaded. Rows are model instances, or tuples if the queryset asks for `values_list`.
    """

    def __init__(self, make_queryset: Callable[[], QuerySet]) -> None:
        self.make_queryset = make_queryset

    @cached_property
    def statement(self) -> CompiledStatement:
        return self.compile()

    def compile(self) -> CompiledStatement:
        queryset = self.make_queryset()
        compiler = queryset.query.get_compiler(connection=connection)
        sql, params = compiler.as_sql()
        # For values that psycopg leaves as they are: JSON, encrypted text.
        converters = compiler.get_converters([column[0] for column in compiler.select])
        build_row = row_factory(compiler) if queryset._iterable_class is ModelIterable else tuple

        def to_objects(rows: Iterable[Sequence[Any]]) -> list[Any]:
            return [build_row(row) for row in (compiler.apply_converters(rows, converters) if converters else rows)]

        return CompiledStatement(sql, params, len(compiler.select), to_objects)

    def all(self, **values: object) -> list[Row]:
        statement = self.statement
        with preparing_cursor() as cursor:
            cursor.execute(statement.sql, bind(statement.params, values))
            rows = cursor.fetchall()
        return statement.to_objects(rows)

    def first(self, **values: object) -> Row | None:
        return next(iter(self.all(**values)), None)


class CombinedQuery:
    """Several queries of at most one row each, run as one statement, because the round trip costs more than they do."""

    def __init__(self, *queries: CompiledQuery[Any]) -> None:
        self.queries = queries

    @cached_property
    def sql_with_params(self) -> tuple[str, Params]:
        """The combined SQL, with the columns of every query side by side in one row, and its parameters."""
        parts = [query.statement for query in self.queries]
        joins = " ".join(f"LEFT JOIN ({part.sql}) AS part{number} ON true" for number, part in enumerate(parts))
        columns = ", ".join(f"part{number}.*" for number in range(len(parts)))
        return COMBINED.format(columns=columns, joins=joins), [param for part in parts for param in part.params]

    def first(self, **values: object) -> list[Any]:
        sql, params = self.sql_with_params
        with preparing_cursor() as cursor:
            cursor.execute(sql, bind(params, values))
            row = cursor.fetchone()
        results, start = [], 0
        for _, _, column_count, to_objects in (query.statement for query in self.queries):
            columns = row[start : start + column_count]
            start += column_count
            # A LEFT JOIN without a match has null in every column, which no row with a primary key has.
            is_missing = columns.count(None) == len(columns)
            results.append(None if is_missing else to_objects([columns])[0])
        return results


def row_factory(compiler: SQLCompiler) -> Callable[[Sequence[Any]], models.Model]:
    """Return a function that makes a model instance of a row, with its `select_related` objects and annotations."""
    # The same steps as in Django's `ModelIterable`, which can't be given rows.
    klass: Any = compiler.klass_info
    start, end = klass["select_fields"][0], klass["select_fields"][-1] + 1
    names = [column[0].target.attname for column in compiler.select[start:end]]
    populators = get_related_populators(  # type: ignore[call-arg]  # the stubs are newer
        klass, compiler.select, connection.alias
    )

    def build(row: Sequence[Any]) -> models.Model:
        instance: models.Model = klass["model"].from_db(connection.alias, names, row[start:end])
        for populator in populators:
            populator.populate(row, instance)
        for name, position in compiler.annotation_col_map.items():
            setattr(instance, name, row[position])
        return instance

    return build
