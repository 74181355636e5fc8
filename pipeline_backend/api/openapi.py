"""The OpenAPI document: it is made of the same shapes, inputs and filters that answer the requests."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerExtension,
    OpenApiSerializerFieldExtension,
)
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction, OpenApiResponse
from rest_framework.serializers import Serializer

from pipeline_backend.api import fields
from pipeline_backend.api.filters import ListFilter
from pipeline_backend.api.pagination import DEFAULT_LIMIT, MAX_LIMIT, MAX_PAGE
from pipeline_backend.api.sql_serializers import Schema, SchemaResolver, SQLSerializer, or_null

Parameters = Callable[[], Iterator[tuple[str, Schema, str]]]

INTEGER = {"type": "integer", "minimum": 0}
PAGINATION = {
    "type": "object",
    "properties": {
        "page": INTEGER,
        "limit": INTEGER,
        "total": INTEGER,
        "totalPages": INTEGER,
        "hasNext": {"type": "boolean"},
        "hasPrev": {"type": "boolean"},
    },
    "required": ["page", "limit", "total", "totalPages", "hasNext", "hasPrev"],
}
ERROR = {
    "type": "object",
    "properties": {"status": {"type": "string", "enum": ["error"]}, "message": {"type": "string"}},
    "required": ["status", "message"],
}
FIELD_ERRORS = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}
INVALID = {**ERROR, "properties": {**ERROR["properties"], "errors": FIELD_ERRORS}}  # type: ignore[dict-item]


@dataclass(frozen=True)
class ActionResponse:
    """The form of create, cancel, submit and update."""

    serializer: type[SQLSerializer]

    def schema(self, resolve: SchemaResolver) -> Schema:
        """`status`, `message`, `data`."""
        return envelope({"status": {"type": "string", "enum": ["success"]}}, resolve(self.serializer))


@dataclass(frozen=True)
class DetailResponse:
    """The form of a detail."""

    serializer: type[SQLSerializer]

    def schema(self, resolve: SchemaResolver) -> Schema:
        """`success`, `message`, `data`."""
        return envelope({"success": {"type": "boolean", "enum": [True]}}, resolve(self.serializer))


@dataclass(frozen=True)
class ListResponse:
    """The form of a list."""

    serializer: type[SQLSerializer]
    paginated: bool = True
    extra: Schema = field(default_factory=dict)

    def schema(self, resolve: SchemaResolver) -> Schema:
        """`success`, `message`, `data`, and `pagination` where there are pages."""
        more = {"pagination": PAGINATION} if self.paginated else self.extra
        return envelope(
            {"success": {"type": "boolean", "enum": [True]}},
            {"type": "array", "items": resolve(self.serializer)},
            **more,
        )


def envelope(first: Schema, data: Schema, **more: Schema) -> Schema:
    """An answer's outer object."""
    properties = {**first, "message": {"type": "string"}, "data": data, **more}
    return {"type": "object", "properties": properties, "required": list(properties)}


@dataclass(frozen=True)
class Operation:
    """What the document says of one action."""

    summary: str
    responses: dict[int, ActionResponse | DetailResponse | ListResponse]
    request: type[Serializer[Any]] | None = None
    filters: type[ListFilter] | None = None
    parameters: Parameters | None = None
    errors: dict[int, str] = field(default_factory=dict)

    def query(self) -> Iterator[tuple[str, Schema, str]]:
        """The query parameters."""
        if self.filters:
            yield "page", {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1}, "Which page."
            yield (
                "limit",
                {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
                "Items on a page.",
            )
            yield from self.filters.parameters()
        if self.parameters:
            yield from self.parameters()


def operation(summary: str, **said: Any) -> Callable[[Any], Any]:
    """Say what an action takes and answers; see `Operation`."""

    def mark(action: Any) -> Any:
        action.operation = Operation(summary, **said)
        return action

    return mark


COMMON_ERRORS = {
    401: "No key, or one that is unknown, revoked or expired.",
    403: "The key lacks the scope.",
    429: "The rate limit is used up; Retry-After says for how many seconds.",
    503: "The database is briefly away; Retry-After says for how many seconds.",
}
BODY_ERRORS = {413: "The body is larger than 1 MiB.", 415: "The body is not application/json, or is compressed."}


class ApiSchema(AutoSchema):
    """Reads `Operation`s."""

    @property
    def said(self) -> Operation:
        """What the action says of itself."""
        view: Any = self.view
        said: Operation = getattr(view, view.action).operation
        return said

    def get_summary(self) -> str:
        """One line."""
        return self.said.summary

    def get_tags(self) -> list[str]:
        """One group a resource."""
        return [(self.view.__class__.__doc__ or "").rstrip(".")]

    def get_operation_id(self) -> str:
        """As generated clients will name it: list_appointments."""
        return (
            self.said.summary.lower()
            .replace("'s", "")
            .replace(" an ", " ")
            .replace(" a ", " ")
            .replace("-", "_")
            .replace(" ", "_")
        )

    def get_request_serializer(self) -> Any:
        """The input."""
        return self.said.request

    def get_response_serializers(self) -> Any:
        """Every code the action can answer."""
        answers = {
            code: OpenApiResponse(answer.schema(self.reference), description="")
            for code, answer in self.said.responses.items()
        }
        return answers | {
            code: OpenApiResponse(INVALID if code == 400 else ERROR, description=text)
            for code, text in sorted(self.errors().items())
        }

    def errors(self) -> dict[int, str]:
        """Common ones and the action's own."""
        found = dict(COMMON_ERRORS)
        if self.said.request or any(self.said.query()):
            found[400] = "A missing or invalid field or parameter; errors has the messages by name."
        if self.said.request:
            found |= BODY_ERRORS
        if "{id}" in self.path:
            found[404] = "The organization has nothing of this id."
        return found | self.said.errors

    def reference(self, shape: type[SQLSerializer]) -> Schema:
        """A reference to a shape's component."""
        component: Any = shape
        reference: Schema = self.resolve_serializer(component, "response").ref
        return reference

    def get_override_parameters(self) -> list[Any]:
        """Nothing: `_get_parameters` says them all."""
        return []

    def _get_parameters(self) -> list[Schema]:
        path = (
            [{"in": "path", "name": "id", "schema": {"type": "string", "format": "uuid"}, "required": True}]
            if "{id}" in self.path
            else []
        )
        query = [
            {"in": "query", "name": name, "schema": schema, "description": text}
            for name, schema, text in self.said.query()
        ]
        return path + query

    def _is_list_view(self, *args: Any, **kwargs: Any) -> bool:
        """Lists have envelopes of their own."""
        return False

    def _get_response_for_code(self, *args: Any, **kwargs: Any) -> Schema:
        response: Schema = super()._get_response_for_code(*args, **kwargs)
        response.setdefault("description", "")
        return response


class SQLSerializerExtension(OpenApiSerializerExtension):
    """Makes components of output serializers."""

    target_class = "pipeline_backend.api.sql_serializers.SQLSerializer"
    match_subclasses = True

    def get_name(self, auto_schema: Any, direction: Direction) -> str:
        """The component's name."""
        name: str = vars(self.target).get("component_name") or self.target.__name__.removesuffix("Serializer")
        return name

    def map_serializer(self, auto_schema: Any, direction: Direction) -> Schema:
        """The component."""
        schema: Schema = self.target.schema(auto_schema.reference)
        return schema


class KeyExtension(OpenApiAuthenticationExtension):
    """The header that carries the key."""

    target_class = "organizations.authentication.ApiKeyAuthentication"
    name = "ApiKey"

    def get_security_definition(self, auto_schema: Any) -> Schema:
        """Where the key goes."""
        return {"type": "apiKey", "in": "header", "name": "x-api-key"}


class TextExtension(OpenApiSerializerFieldExtension):
    """Strict text fields, and what else is sent as text."""

    target_class = "pipeline_backend.api.fields.StringField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: Direction) -> Schema:
        """Its type, format and length."""
        formats = {
            fields.EmailField: "email",
            fields.URLField: "uri",
            fields.DateTimeField: "date-time",
            fields.UUIDField: "uuid",
        }
        found = next((name for kind, name in formats.items() if isinstance(self.target, kind)), None)
        if isinstance(self.target, fields.ChoiceField):
            return {"type": "string", "enum": self.target.choices}
        schema: Schema = {"type": "string", "maxLength": self.target.max_length} | ({"format": found} if found else {})
        return schema if self.target.required else or_null(schema)


class WholeNumberExtension(OpenApiSerializerFieldExtension):
    """Strict integers."""

    target_class = "pipeline_backend.api.fields.IntegerField"

    def map_serializer_field(self, auto_schema: Any, direction: Direction) -> Schema:
        """With its bounds."""
        schema: Schema = {"type": "integer", "minimum": self.target.min_value, "maximum": self.target.max_value}
        return schema if self.target.required else or_null(schema)


RATE_HEADERS = {
    "RateLimit-Policy": 'The limit: `"default";q=600;w=60` is 600 requests in 60 seconds.',
    "RateLimit": 'Where you stand: `"default";r=599;t=42` is 599 left now, and one more in 42 seconds. The limit holds for any 60 seconds.',
}
RETRY_AFTER = {"Retry-After": "Seconds to wait before the same request is worth sending again."}


def add_headers(result: Schema, **_: Any) -> Schema:
    """Every answer's headers, which are the same for all operations."""
    operations = [operation for path in result["paths"].values() for operation in path.values()]
    for code, response in (
        (code, response) for operation in operations for code, response in operation["responses"].items()
    ):
        names = {"X-Request-Id": "The request's id: the one you sent, or ours."}
        names |= RATE_HEADERS if code != "401" else {}
        names |= RETRY_AFTER if code in {"429", "503"} else {}
        response["headers"] = {
            name: {"schema": {"type": "string"}, "description": text} for name, text in names.items()
        }
    return result
