"""Serializers that PostgreSQL runs: each is compiled to one statement that returns finished JSON.

List, detail, event bodies and the OpenAPI document come from one declaration, in which a field is one line. Why not
DRF's serializers: docs/decisions/0001.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, ClassVar

import orjson
from django.contrib.postgres.expressions import ArraySubquery
from django.db import models
from django.db.models import Expression, ExpressionWrapper, F, Func, OuterRef, QuerySet, Subquery
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast

from foundation.db.compiled import CompiledQuery, CompiledStatement, Param, SQLWithParams
from foundation.db.expressions import is_any_of

Json = orjson.Fragment  # JSON text that the renderer copies into the response as it is
# A common table of the objects that the rows of a page refer to, and the look-up of one of them.
SHARED = "shared_{number} (id, json) AS MATERIALIZED ({query})"
ONE_SHARED = "(SELECT json FROM shared_{number} WHERE shared_{number}.id = %(expressions)s)"
NOTHING: Mapping[str, Combinable] = {}
Schema = dict[str, Any]
Tenant = models.Model  # an organization: this package can't import the app that defines it, and needs only its id
SchemaResolver = Callable[[type["SQLSerializer"]], Schema]  # returns the reference to a serializer's component


def or_null(schema: Schema) -> Schema:
    if "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    choices = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [schema["type"], "null"], **choices}


class Field:
    """A field of a serializer: the expression that reads it, and its OpenAPI schema.

    `path` is the column as in `filter` (`user__email`); the field's name by default.
    """

    openapi: Schema = {"type": "string"}

    def __init__(
        self, path: str = "", *, null: bool = False, help_text: str = "", openapi: Schema | None = None
    ) -> None:
        self.path = path
        self.openapi = openapi or self.openapi
        self.null = null
        self.help_text = help_text

    def expression(self, name: str, prefix: str) -> Combinable:
        return F(prefix + (self.path or name))

    def schema(self, resolve: SchemaResolver) -> Schema:
        schema = self.value_schema(resolve)
        description = {"description": self.help_text} if self.help_text else {}
        return (or_null(schema) if self.null else schema) | description

    def value_schema(self, resolve: SchemaResolver) -> Schema:
        return dict(self.openapi)


StringField = Field
UUIDField = partial(
    Field, openapi={"type": "string", "format": "uuid", "examples": ["0193e0a5-77c4-7b6f-9d0e-3c6f5d2a1b48"]}
)
BooleanField = partial(Field, openapi={"type": "boolean"})
IntegerField = partial(Field, openapi={"type": "integer"})
NumberField = partial(Field, openapi={"type": "number"})
StringListField = partial(Field, openapi={"type": "array", "items": {"type": "string"}})


class AnyField(Field):
    """Any JSON value; another field of the object says its type."""

    openapi = {}


class ComputedField(Field):
    """The value of an expression on the row. The serializer can't be nested in another one."""

    def __init__(self, computed: Combinable, **options: Any) -> None:
        super().__init__(**options)
        self.computed = computed

    def expression(self, name: str, prefix: str) -> Combinable:
        assert not prefix
        return self.computed


class ConditionField(ComputedField):
    """Whether the row meets the condition."""

    openapi = {"type": "boolean"}

    def __init__(self, condition: models.Q, **options: Any) -> None:
        super().__init__(ExpressionWrapper(condition, output_field=models.BooleanField()), **options)


class ChoiceField(Field):
    def __init__(self, choices: type[models.TextChoices], path: str = "", **options: Any) -> None:
        super().__init__(path, openapi={"type": "string", "enum": list(choices.values)}, **options)


class OpenChoiceField(Field):
    """A value of an enumeration that may grow: the document promises a string, so that clients accept new values."""

    def __init__(
        self, choices: type[models.TextChoices], path: str = "", *, help_text: str = "", **options: Any
    ) -> None:
        values = f"One of {', '.join(choices.values)}; more may be added."
        super().__init__(path, help_text=f"{help_text} {values}".strip(), **options)


class DateTimeField(Field):
    """A timestamp in UTC, with milliseconds and a Z. PostgreSQL formats it."""

    openapi = {"type": "string", "format": "date-time", "examples": ["2027-01-05T10:00:00.000Z"]}

    def expression(self, name: str, prefix: str) -> Expression:
        return Func(
            super().expression(name, prefix),
            template="""to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')""",
            output_field=models.TextField(),
        )


class NestedObject(Field):
    """The object that a foreign key points to; with `null=True` it is null if the foreign key is."""

    def __init__(self, serializer: type["SQLSerializer"], path: str = "", **options: Any) -> None:
        super().__init__(path, **options)
        self.serializer = serializer

    def expression(self, name: str, prefix: str) -> Combinable:
        path = prefix + (self.path or name)
        if not self.null:
            return self.serializer.expression(f"{path}__")
        # Not a join: PostgreSQL's planning time grows with each one, and would exceed the execution time.
        rows = self.serializer.model._base_manager.filter(pk=OuterRef(path)).order_by()
        return Subquery(rows.values_list(self.serializer.expression()), output_field=models.JSONField())

    def value_schema(self, resolve: SchemaResolver) -> Schema:
        return resolve(self.serializer)


class SameRowObject(NestedObject):
    """Columns of the same row, grouped as an object."""

    def expression(self, name: str, prefix: str) -> Combinable:
        return self.serializer.expression(prefix)


# Makes the queryset of related rows; it is passed a function that refers to a column of the outer row.
RelatedRows = Callable[[Callable[[str], OuterRef]], QuerySet]


class NestedList(Field):
    """The rows that point to this one, in the order of the queryset; at most `limit` of them if it is given."""

    def __init__(
        self,
        serializer: type["SQLSerializer"],
        related_rows: RelatedRows,
        *,
        limit: int | None = None,
        help_text: str = "",
    ) -> None:
        super().__init__(help_text=help_text)
        self.serializer = serializer
        self.related_rows = related_rows
        self.limit = limit

    def expression(self, name: str, prefix: str) -> Combinable:
        array = ArraySubquery(self.inner_objects(prefix)[: self.limit])
        return Func(array, function="to_json", output_field=models.JSONField())

    def inner_objects(self, prefix: str) -> QuerySet:
        return self.related_rows(lambda path: OuterRef(prefix + path)).values_list(self.serializer.expression())

    def value_schema(self, resolve: SchemaResolver) -> Schema:
        max_items = {"maxItems": self.limit} if self.limit else {}
        return {"type": "array", "items": resolve(self.serializer), **max_items}


class FirstRelatedObject(NestedList):
    """The first of the rows that point to this one, in the order of the queryset, or null if there is none."""

    def __init__(self, serializer: type["SQLSerializer"], related_rows: RelatedRows, *, help_text: str = "") -> None:
        super().__init__(serializer, related_rows, help_text=help_text)
        self.null = True

    def expression(self, name: str, prefix: str) -> Combinable:
        return Subquery(self.inner_objects(prefix)[:1], output_field=models.JSONField())

    def value_schema(self, resolve: SchemaResolver) -> Schema:
        return resolve(self.serializer)


class SQLSerializer:
    """Base class of output serializers.

    Class attributes that are a `Field` become the JSON object's members, in their order. A subclass inherits the fields
    of its base and drops those named in `exclude`. The class's name, without "Serializer", is that of its component in
    the OpenAPI document.
    """

    model: ClassVar[type[models.Model]]
    exclude: ClassVar[Sequence[str]] = ()
    # Left out of an event's `previous`: constants, the version, and other objects, which have events of their own.
    untracked: ClassVar[Sequence[str]] = ("id", "created_at", "updated_at")
    fields: ClassVar[dict[str, Field]] = {}

    def __init_subclass__(cls) -> None:
        # `from_` is the field `from`, which Python has as a keyword.
        declared = {name.removesuffix("_"): value for name, value in vars(cls).items() if isinstance(value, Field)}
        inherited = {name: field for name, field in cls.fields.items() if name not in cls.exclude}
        cls.fields = {**inherited, **declared}

    @classmethod
    def expression(cls, prefix: str = "", replaced: Mapping[str, Combinable] = NOTHING) -> Expression:
        """Return the expression of the row's JSON, with the `replaced` ones for the fields that it names."""
        arguments: list[Combinable] = []
        for name, field in cls.fields.items():
            # The name as a literal: a parameter for each would take psycopg longer on every call.
            arguments += [Func(template=f"'{name}'"), replaced.get(name) or field.expression(name, prefix)]
        return Func(*arguments, function="json_build_object", output_field=models.JSONField())

    @classmethod
    def schema(cls, resolve: SchemaResolver) -> Schema:
        properties = {name: field.schema(resolve) for name, field in cls.fields.items()}
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        return schema | ({"description": (cls.__doc__ or "").strip()} if cls.__doc__ else {})

    @classmethod
    def get_many(cls, organization: Tenant, ids: Iterable[uuid.UUID]) -> list[Json]:
        ids = list(ids)
        if not ids:
            return []
        json_by_id = dict(cls.query_by_ids().all(organization=organization.pk, ids=ids))
        return [Json(text) for id in ids if (text := json_by_id.get(id))]

    @classmethod
    def get(cls, organization: Tenant, id: uuid.UUID) -> Json | None:
        text = cls.get_text(organization, id)
        return Json(text) if text else None

    @classmethod
    def get_text(cls, organization: Tenant, id: uuid.UUID) -> str | None:
        row = cls.query_by_id().first(organization=organization.pk, id=id)
        return row[1] if row else None

    @classmethod
    @cache
    def query_by_ids(cls) -> CompiledQuery[tuple[uuid.UUID, str]]:
        """Return the query of id and JSON for the parameters `organization` and `ids`."""
        return PageQuery(cls)

    @classmethod
    @cache
    def query_by_id(cls) -> CompiledQuery[tuple[uuid.UUID, str]]:
        """Return the query of id and JSON for the parameters `organization` and `id`.

        Compiled for the benchmarks "detail" and "create an appointment", which builds the body of two events.
        """
        # Not `query_by_ids` with one id: PostgreSQL would plan that again on every call.
        return CompiledQuery(lambda: cls.base_query().filter(pk=Param("id")))

    @classmethod
    def base_query(cls, replaced: Mapping[str, Combinable] = NOTHING) -> QuerySet:
        """Return the queryset of id and JSON for the rows of the parameter `organization`, without an order."""
        # As text: psycopg would parse a json column, and the response is only going to contain its bytes.
        return own_rows(cls.model).values_list("pk", Cast(cls.expression(replaced=replaced), models.TextField()))


class PageQuery(CompiledQuery[tuple[uuid.UUID, str]]):
    """The query of `query_by_ids`, compiled for the benchmarks "list of 10" and "list of 100".

    The rows of a page name the same few members and statuses. PostgreSQL reads these once, by a CTE for each
    serializer, and not by subqueries for each row.
    """

    def __init__(self, serializer: type[SQLSerializer]) -> None:
        self.serializer = serializer
        self.paths: dict[type[SQLSerializer], dict[str, str]] = {}  # of the fields that each CTE has the objects of
        super().__init__(self.page)

    def page(self) -> QuerySet:
        for name, field in self.serializer.fields.items():
            if type(field) is NestedObject and field.null:
                self.paths.setdefault(field.serializer, {})[name] = field.path or name
        replaced = {
            name: Func(F(path), template=ONE_SHARED.format(number=number), output_field=models.JSONField())
            for number, paths in enumerate(self.paths.values())
            for name, path in paths.items()
        }
        return on_page(self.serializer.base_query(replaced))

    def compile(self) -> CompiledStatement:
        statement = super().compile()
        shared = [self.shared(serializer, paths.values()) for serializer, paths in self.paths.items()]
        if not shared:
            return statement
        ctes = ", ".join(SHARED.format(number=number, query=sql) for number, (sql, _) in enumerate(shared))
        params = [param for _, cte_params in shared for param in cte_params]
        return statement._replace(sql=f"WITH {ctes} {statement.sql}", params=[*params, *statement.params])

    def shared(self, serializer: type[SQLSerializer], paths: Iterable[str]) -> SQLWithParams:
        """Return the query of ids and JSON of the objects that the rows of the page name in these columns."""
        ids = Func(*map(F, paths), template="unnest(ARRAY[%(expressions)s])", output_field=models.UUIDField())
        # With the organization, so that its index is used: the policy alone is checked for each row of the table.
        objects = own_rows(serializer.model).filter(pk__in=on_page(own_rows(self.serializer.model)).values_list(ids))
        return objects.values_list("pk", serializer.expression()).query.sql_with_params()


def own_rows(model: type[models.Model]) -> QuerySet:
    """Return the rows of the parameter `organization`, without an order."""
    return model._base_manager.filter(organization=Param("organization")).order_by()


def on_page(rows: QuerySet) -> QuerySet:
    """Return the rows with the parameter `ids`."""
    # Not `pk__in`: its text would depend on the number of ids. And in a subquery, because PostgreSQL would plan the
    # statement anew for each short list of ids, which takes longer than the statement (benchmark: first page).
    ids = Func(Param("ids"), template="(SELECT %(expressions)s)::uuid[]", output_field=models.UUIDField())
    return rows.filter(is_any_of("pk", ids))
