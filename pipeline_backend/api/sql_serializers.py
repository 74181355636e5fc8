"""Shapes: what the interface shows of an object, said once.

A shape is read from the database as finished JSON by one fixed statement (`of`, `one`), and describes itself to the
OpenAPI document (`schema`). List, detail, event bodies and documentation all come from the same few lines, so they
cannot drift apart. A new field is one line.
"""

import uuid
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, ClassVar

import orjson
from django.contrib.postgres.expressions import ArraySubquery
from django.db import models
from django.db.models import Expression, F, Func, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Cast

from pipeline_backend.db.compiled import CompiledQuery, Param

Json = orjson.Fragment
Schema = dict[str, Any]
SchemaResolver = Callable[[type["SQLSerializer"]], Schema]


def or_null(schema: Schema) -> Schema:
    """The schema of the same thing, or null."""
    return {**schema, "type": [schema["type"], "null"]} if "type" in schema else {"anyOf": [schema, {"type": "null"}]}


class SqlLiteral(Value):
    """A word of ours that goes into the SQL as it is, so that the statement stays without parameters."""

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        """The quoted word."""
        escaped = str(self.value).replace("'", "''").replace("%", "%%")
        return f"'{escaped}'", ()


class Field:
    """One member of a shape: where it is read, and what it is."""

    kind: ClassVar[Schema] = {"type": "string"}

    def __init__(self, path: str = "", *, null: bool = False, help: str = "") -> None:
        self.path = path
        self.null = null
        self.help = help

    def expression(self, name: str, prefix: str) -> Any:
        """What to select: a database expression."""
        return F(prefix + (self.path or name))

    def schema(self, resolve: SchemaResolver) -> Schema:
        """The member in the OpenAPI document."""
        schema = or_null(dict(self.kind)) if self.null else dict(self.kind)
        return schema | ({"description": self.help} if self.help else {})


class StringField(Field):
    """A string."""


class UUIDField(Field):
    """A UUID."""

    kind = {"type": "string", "format": "uuid"}


class BooleanField(Field):
    """A boolean."""

    kind = {"type": "boolean"}


class IntegerField(Field):
    """A whole number."""

    kind = {"type": "integer"}


class NumberField(Field):
    """A number."""

    kind = {"type": "number"}


class AnyField(Field):
    """A JSON value whose type another member tells."""

    kind: ClassVar[Schema] = {}


class ChoiceField(Field):
    """A member of an enumeration."""

    def __init__(
        self, choices: type[models.TextChoices], path: str = "", *, null: bool = False, help: str = ""
    ) -> None:
        super().__init__(path, null=null, help=help)
        self.choices = choices

    def schema(self, resolve: SchemaResolver) -> Schema:
        """With the values it can have."""
        return super().schema(resolve) | {"enum": [*self.choices.values, *([None] if self.null else [])]}


class DateTimeField(Field):
    """A timestamp in UTC with milliseconds and a Z, formatted by the database."""

    kind = {"type": "string", "format": "date-time", "example": "2027-01-05T10:00:00.000Z"}

    def expression(self, name: str, prefix: str) -> Expression:
        """The formatted text."""
        return Func(
            super().expression(name, prefix),
            template="""to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')""",
            output_field=models.TextField(),
        )


class NestedObject(Field):
    """Another shape, over a foreign key; with `null` it is null where there is no such row."""

    def __init__(self, shape: type["SQLSerializer"], path: str = "", *, null: bool = False, help: str = "") -> None:
        super().__init__(path, null=null, help=help)
        self.shape = shape

    def expression(self, name: str, prefix: str) -> Any:
        """The inner object."""
        path = prefix + (self.path or name)
        if not self.null:
            return self.shape.expression(f"{path}__")
        # Not a join: PostgreSQL's planning grows with each one, and comes to more than running the statement.
        rows = self.shape.model._base_manager.filter(pk=OuterRef(path)).order_by()
        return Subquery(rows.values_list(self.shape.expression()), output_field=models.JSONField())

    def schema(self, resolve: SchemaResolver) -> Schema:
        """A reference to the inner shape."""
        schema = or_null(resolve(self.shape)) if self.null else resolve(self.shape)
        return schema | ({"description": self.help} if self.help else {})


class NestedList(Field):
    """Rows that point here: all of them in order, the first `limit`, or (`single`) the first one or null.

    `rows` makes the queryset from a reference to the outer row.
    """

    def __init__(
        self,
        shape: type["SQLSerializer"],
        rows: Callable[[Callable[[str], OuterRef]], QuerySet[Any]],
        *,
        limit: int | None = None,
        single: bool = False,
        help: str = "",
    ) -> None:
        super().__init__(null=single, help=help)
        self.shape = shape
        self.rows = rows
        self.limit = limit
        self.single = single

    def expression(self, name: str, prefix: str) -> Any:
        """A subselect of the inner objects."""
        rows = self.rows(lambda path: OuterRef(prefix + path)).values_list(self.shape.expression())
        if self.single:
            return Subquery(rows[:1], output_field=models.JSONField())
        array = ArraySubquery(rows[: self.limit] if self.limit else rows)
        return Func(array, function="to_json", output_field=models.JSONField())

    def schema(self, resolve: SchemaResolver) -> Schema:
        """One inner shape or null, or an array of them."""
        inner = resolve(self.shape)
        schema: Schema = or_null(inner) if self.single else {"type": "array", "items": inner}
        if self.limit:
            schema["maxItems"] = self.limit
        return schema | ({"description": self.help} if self.help else {})


class SQLSerializer:
    """Base of all shapes. Members are class attributes in the order shown; `without` drops inherited ones."""

    model: ClassVar[type[models.Model]]
    component_name: ClassVar[str] = ""  # in the OpenAPI document; the class name without "Serializer" if empty
    without: ClassVar[Sequence[str]] = ()
    members: ClassVar[dict[str, Field]] = {}

    def __init_subclass__(cls) -> None:
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        inherited = {name: field for name, field in cls.members.items() if name not in cls.without}
        cls.members = {**inherited, **own}

    @classmethod
    def expression(cls, prefix: str = "") -> Expression:
        """The object, built by the database."""
        pairs = [
            part for name, field in cls.members.items() for part in (SqlLiteral(name), field.expression(name, prefix))
        ]
        return Func(*pairs, function="json_build_object", output_field=models.JSONField())

    @classmethod
    def schema(cls, resolve: SchemaResolver) -> Schema:
        """The object in the OpenAPI document."""
        properties = {name: field.schema(resolve) for name, field in cls.members.items()}
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        return schema | ({"description": (cls.__doc__ or "").strip()} if cls.__doc__ else {})

    @classmethod
    def of(cls, organization: Any, ids: Iterable[uuid.UUID]) -> list[Json]:
        """The organization's objects with these ids, in the order of the ids; unknown ones are left out."""
        wanted = list(ids)
        if not wanted:
            return []
        rows = dict(cls.rows().all(organization=organization.pk, ids=wanted))
        return [Json(rows[one]) for one in wanted if one in rows]

    @classmethod
    def one(cls, organization: Any, id: uuid.UUID) -> Json | None:
        """The organization's object with this id, or None."""
        found = cls.row().first(organization=organization.pk, id=id)
        return Json(found[1]) if found else None

    @classmethod
    @cache
    def rows(cls) -> CompiledQuery[tuple[uuid.UUID, str]]:
        """The fixed statement of many: id and JSON."""
        return CompiledQuery(lambda: cls.selected().filter(pk__any=Param("ids")))

    @classmethod
    @cache
    def row(cls) -> CompiledQuery[tuple[uuid.UUID, str]]:
        """The fixed statement of one. It is another, because PostgreSQL would plan a list of one anew each time."""
        return CompiledQuery(lambda: cls.selected().filter(pk=Param("id")))

    @classmethod
    def selected(cls) -> QuerySet[Any, Any]:
        """Id and JSON of an organization's rows."""
        rows = cls.model._base_manager.filter(organization=Param("organization")).order_by()
        return rows.values_list("pk", Cast(cls.expression(), models.TextField()))
