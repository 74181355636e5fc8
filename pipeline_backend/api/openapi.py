"""The OpenAPI document, made of the same serializers, input fields and filters that serve the requests.

A view's action is documented by the decorator `operation`, in place of drf-spectacular's `extend_schema`: our lists,
details and errors have a form of their own, which the decorator knows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

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

Parameter = tuple[str, Schema, str]  # name, schema and description
Action = TypeVar("Action", bound=Callable[..., Any])

INTEGER = {"type": "integer", "minimum": 0}
BOOLEAN = {"type": "boolean"}
PAGINATION = {
    "type": "object",
    "properties": {
        "page": INTEGER,
        "limit": INTEGER,
        "total": INTEGER,
        "totalPages": INTEGER,
        "hasNext": BOOLEAN,
        "hasPrev": BOOLEAN,
    },
    "required": ["page", "limit", "total", "totalPages", "hasNext", "hasPrev"],
}
ERROR: Schema = {
    "type": "object",
    "properties": {"status": {"type": "string", "enum": ["error"]}, "message": {"type": "string"}},
    "required": ["status", "message"],
}
FIELD_ERRORS = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}
VALIDATION_ERROR = {**ERROR, "properties": {**ERROR["properties"], "errors": FIELD_ERRORS}}

COMMON_ERRORS = {
    401: "The key is missing, unknown, revoked or expired.",
    403: "The key lacks the required scope.",
    429: "Too many requests. Retry after the number of seconds in Retry-After.",
    503: "The database is briefly unavailable. Retry after the number of seconds in Retry-After.",
}
INVALID_INPUT = "A field or parameter is missing or invalid; `errors` has the messages by name."
BODY_ERRORS = {413: "The body is larger than 1 MiB.", 415: "The body is not application/json, or is compressed."}
NOT_FOUND = "The organization has no object with this id."

REQUEST_ID_HEADER = {"X-Request-Id": "The request's id: the one you sent, or a new one."}
RATE_LIMIT_HEADERS = {
    "RateLimit-Policy": 'The limit. `"default";q=600;w=60` means 600 requests in each window of 60 seconds.',
    "RateLimit": (
        'What remains of it. `"default";r=599;t=42` means that 599 requests remain, '
        "and that the next window begins in 42 seconds."
    ),
}
RETRY_AFTER_HEADER = {"Retry-After": "Seconds to wait before you send the same request again."}


@dataclass(frozen=True)
class ActionResponse:
    """The response of create, cancel, submit and update: `status`, `message`, `data`."""

    serializer: type[SQLSerializer]

    def schema(self, resolve: SchemaResolver) -> Schema:
        return envelope({"status": {"type": "string", "enum": ["success"]}}, resolve(self.serializer))


@dataclass(frozen=True)
class DetailResponse:
    """The response of a detail: `success`, `message`, `data`."""

    serializer: type[SQLSerializer]

    def schema(self, resolve: SchemaResolver) -> Schema:
        return envelope({"success": {"type": "boolean", "enum": [True]}}, resolve(self.serializer))


@dataclass(frozen=True)
class ListResponse:
    """The response of a list: `success`, `message`, `data`, and `pagination` or other `extra` members."""

    serializer: type[SQLSerializer]
    paginated: bool = True
    extra: Schema = field(default_factory=dict)

    def schema(self, resolve: SchemaResolver) -> Schema:
        extra = {"pagination": PAGINATION} if self.paginated else self.extra
        items = {"type": "array", "items": resolve(self.serializer)}
        return envelope({"success": {"type": "boolean", "enum": [True]}}, items, **extra)


def envelope(first: Schema, data: Schema, **extra: Schema) -> Schema:
    """Return the schema of a response's outer object."""
    properties = {**first, "message": {"type": "string"}, "data": data, **extra}
    return {"type": "object", "properties": properties, "required": list(properties)}


@dataclass(frozen=True)
class Operation:
    """The documentation of one action: its input, its parameters and its responses.

    `errors` describes status codes beyond those that every operation can return.
    """

    summary: str  # the operation id is made of it
    responses: dict[int, ActionResponse | DetailResponse | ListResponse]
    request: type[Serializer] | None = None
    filters: type[ListFilter] | None = None
    parameters: Callable[[], Iterator[Parameter]] | None = None
    errors: dict[int, str] = field(default_factory=dict)

    def query_parameters(self) -> Iterator[Parameter]:
        if self.filters:
            page = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1}
            limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
            yield "page", page, "Page number."
            yield "limit", limit, "Number of items on a page."
            yield from self.filters.parameters()
        if self.parameters:
            yield from self.parameters()


def operation(summary: str, **options: Any) -> Callable[[Action], Action]:
    """Document an action of a viewset; the options are the fields of `Operation`."""

    def decorate(action: Action) -> Action:
        action.operation = Operation(summary, **options)  # type: ignore[attr-defined]  # functions accept attributes
        return action

    return decorate


class ApiSchema(AutoSchema):
    """Describes the actions that are documented by `operation`."""

    @property
    def operation(self) -> Operation:
        """The documentation of the view's current action."""
        view: Any = self.view
        documented: Operation = getattr(view, view.action).operation
        return documented

    def get_summary(self) -> str:
        return self.operation.summary

    def get_tags(self) -> list[str]:
        """Return the group that the operation is listed under: the docstring of its viewset."""
        return [(self.view.__class__.__doc__ or "").rstrip(".")]

    def get_operation_id(self) -> str:
        """Return the name of the operation in generated clients, such as list_appointments."""
        return (
            self.operation.summary.lower()
            .replace("'s", "")
            .replace(" an ", " ")
            .replace(" a ", " ")
            .replace("-", "_")
            .replace(" ", "_")
        )

    def get_request_serializer(self) -> type[Serializer] | None:
        return self.operation.request

    def get_response_serializers(self) -> Any:
        """Return the response of every status code that the action can return."""
        responses = {
            code: OpenApiResponse(response.schema(self.reference), description="")
            for code, response in self.operation.responses.items()
        }
        errors = {
            code: OpenApiResponse(VALIDATION_ERROR if code == 400 else ERROR, description=text)
            for code, text in sorted(self.errors().items())
        }
        return responses | errors

    def errors(self) -> dict[int, str]:
        """Return the description of each error's status code."""
        errors = dict(COMMON_ERRORS)
        if self.operation.request or any(self.operation.query_parameters()):
            errors[400] = INVALID_INPUT
        if self.operation.request:
            errors |= BODY_ERRORS
        if "{id}" in self.path:
            errors[404] = NOT_FOUND
        return errors | self.operation.errors

    def reference(self, serializer: type[SQLSerializer]) -> Schema:
        """Return the reference to a serializer's component, which is added to the document on first use."""
        component: Any = serializer  # not a DRF serializer; `SQLSerializerExtension` makes it acceptable
        reference: Schema = self.resolve_serializer(component, "response").ref
        return reference

    def get_override_parameters(self) -> list[Any]:
        """Return none: `_get_parameters` returns all of them."""
        return []

    def _get_parameters(self) -> list[Schema]:
        id_schema = {"type": "string", "format": "uuid"}
        path = [{"in": "path", "name": "id", "schema": id_schema, "required": True}] if "{id}" in self.path else []
        query = [
            {"in": "query", "name": name, "schema": schema, "description": text}
            for name, schema, text in self.operation.query_parameters()
        ]
        return path + query

    def _is_list_view(self, *args: object, **kwargs: object) -> bool:
        # drf-spectacular would wrap a list view's schema in an array; `ListResponse` has done so within the envelope.
        return False

    def _get_response_for_code(self, *args: object, **kwargs: object) -> Schema:
        response: Schema = super()._get_response_for_code(*args, **kwargs)
        response.setdefault("description", "")  # drf-spectacular leaves an empty one out, but OpenAPI requires it
        return response


class SQLSerializerExtension(OpenApiSerializerExtension):
    """Makes components of output serializers."""

    target_class = "pipeline_backend.api.sql_serializers.SQLSerializer"
    match_subclasses = True

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        # `vars`, because a subclass is a component of its own and must not inherit the name.
        name: str = vars(self.target).get("component_name") or self.target.__name__.removesuffix("Serializer")
        return name

    def map_serializer(self, auto_schema: Any, direction: Direction) -> Schema:
        schema: Schema = self.target.schema(auto_schema.reference)
        return schema


class ApiKeyExtension(OpenApiAuthenticationExtension):
    """Describes the header that carries the API key."""

    target_class = "organizations.authentication.ApiKeyAuthentication"
    name = "ApiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> Schema:
        return {"type": "apiKey", "in": "header", "name": "x-api-key"}


class StringFieldExtension(OpenApiSerializerFieldExtension):
    """Describes string fields, and the input fields derived from them."""

    target_class = "pipeline_backend.api.fields.StringField"
    match_subclasses = True
    formats: ClassVar[dict[type, str]] = {
        fields.EmailField: "email",
        fields.URLField: "uri",
        fields.DateTimeField: "date-time",
        fields.UUIDField: "uuid",
    }

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        """Return the field's schema: its length and format, or its choices."""
        if isinstance(self.target, fields.ChoiceField):
            return {"type": "string", "enum": self.target.choices}
        schema: Schema = {"type": "string", "maxLength": self.target.max_length}
        for field_class, name in self.formats.items():
            if isinstance(self.target, field_class):
                schema["format"] = name
        return schema if self.target.required else or_null(schema)


class IntegerFieldExtension(OpenApiSerializerFieldExtension):
    """Describes whole-number input fields."""

    target_class = "pipeline_backend.api.fields.IntegerField"

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        """Return the field's schema with its bounds."""
        schema: Schema = {"type": "integer", "minimum": self.target.min_value, "maximum": self.target.max_value}
        return schema if self.target.required else or_null(schema)


def add_headers(result: Schema, **_: Any) -> Schema:
    """Add the headers that every operation's responses have. A postprocessing hook of drf-spectacular."""
    for path in result["paths"].values():
        for documented in path.values():
            for code, response in documented["responses"].items():
                headers = dict(REQUEST_ID_HEADER)
                headers |= RATE_LIMIT_HEADERS if code != "401" else {}
                headers |= RETRY_AFTER_HEADER if code in {"429", "503"} else {}
                response["headers"] = {
                    name: {"schema": {"type": "string"}, "description": text} for name, text in headers.items()
                }
    return result
