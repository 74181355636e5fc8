"""The OpenAPI document, made of the same serializers, input fields and filters that serve the requests.

Views are documented by drf-spectacular's `extend_schema`. This module teaches it our output serializers, input fields
and key, and the outer objects of our responses; `complete_responses` adds what all operations have in common.
"""

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerExtension,
    OpenApiSerializerFieldExtension,
)
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import Direction, OpenApiParameter

from foundation.api import fields
from foundation.api.filters import ListFilter
from foundation.api.pagination import DEFAULT_LIMIT, MAX_LIMIT, MAX_PAGE
from foundation.api.sql_serializers import Schema, SQLSerializer, or_null

PAGINATION_MEMBERS = {
    **{name: {"type": "integer", "minimum": 0} for name in ("page", "limit", "total", "totalPages")},
    **{name: {"type": "boolean"} for name in ("hasNext", "hasPrev")},
}
PAGINATION = {"type": "object", "properties": PAGINATION_MEMBERS, "required": list(PAGINATION_MEMBERS)}
ERROR: Schema = {
    "type": "object",
    "properties": {"status": {"type": "string", "enum": ["error"]}, "message": {"type": "string"}},
    "required": ["status", "message"],
}
FIELD_ERRORS = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}
VALIDATION_ERROR = {**ERROR, "properties": {**ERROR["properties"], "errors": FIELD_ERRORS}}

ANY_TYPE = ["string", "number", "boolean", "array", "null", "object"]
COMMON_ERRORS = {
    "401": "The key is missing, unknown, revoked or expired.",
    "403": "The key lacks the required scope.",
    "429": "Too many requests, or too many at once. Retry after the number of seconds in Retry-After.",
    "503": "The database is briefly unavailable. Retry after the number of seconds in Retry-After.",
}
QUERY_ERROR = {"400": "A field or parameter is missing, invalid or unknown; `errors` has the messages by name."}
TOO_LARGE, WRONG_TYPE = "The body is larger than 1 MiB.", "The body is not application/json, or is compressed."
BODY_ERRORS = QUERY_ERROR | {"413": TOO_LARGE, "415": WRONG_TYPE}
NOT_FOUND_ERROR = {"404": "The organization has no object with this id."}

REQUEST_ID_HEADER = {"X-Request-Id": "The request's id: the one you sent, or a new one."}
RATE_LIMIT_HEADERS = {
    "RateLimit-Policy": 'The limit. `"default";q=600;w=60` means 600 requests in each window of 60 seconds.',
    "RateLimit": 'What remains of it. `"default";r=599;t=42`: 599 requests, and the next window begins in 42 seconds.',
}
RETRY_AFTER_HEADER = {"Retry-After": "Seconds to wait before you send the same request again."}


@dataclass(frozen=True)
class DetailResponse:
    serializer: type[SQLSerializer]
    outcome: ClassVar[Schema] = {"success": {"type": "boolean", "enum": [True]}}
    extra: Schema = field(default_factory=dict)  # further members

    def schema(self, data: Schema) -> Schema:
        properties = {**self.outcome, "message": {"type": "string"}, "data": data, **self.extra}
        return {"type": "object", "properties": properties, "required": list(properties)}


class ActionResponse(DetailResponse):
    outcome: ClassVar[Schema] = {"status": {"type": "string", "enum": ["success"]}}


@dataclass(frozen=True)
class ListResponse(DetailResponse):
    """The response of a list: `success`, `message`, `data`, and `pagination` unless `extra` has other members."""

    extra: Schema = field(default_factory=lambda: {"pagination": PAGINATION})

    def schema(self, data: Schema) -> Schema:
        return super().schema({"type": "array", "items": data})


def list_parameters(filters: type[ListFilter]) -> list[OpenApiParameter]:
    page = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1}
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
    described = [("page", page, "Page number."), ("limit", limit, "Number of items on a page."), *filters.parameters()]
    return [OpenApiParameter(name, schema, description=text) for name, schema, text in described]


class ApiSchema(AutoSchema):
    """Knows the responses above, and that ids in paths are UUIDs."""

    def get_tags(self) -> list[str]:
        """Return the group that the operation is listed under: the docstring of its viewset."""
        return [(self.view.__class__.__doc__ or "").rstrip(".")]

    def get_operation_id(self) -> str:
        """Return the name of the operation in generated clients, such as list_appointments, from its summary."""
        return re.sub(r"'s|(?<= )an? ", "", str(self.get_summary()).lower()).replace("-", "_").replace(" ", "_")

    def reference(self, serializer: type[SQLSerializer]) -> Schema:
        """Return the reference to a serializer's component, which is added to the document on first use."""
        component: Any = serializer  # not one of DRF's, but `SQLSerializerExtension` makes it acceptable
        return dict(self.resolve_serializer(component, "response").ref)

    def get_override_parameters(self) -> list[Any]:
        return [OpenApiParameter("id", OpenApiTypes.UUID, OpenApiParameter.PATH)] if "{id}" in self.path else []

    def _get_response_for_code(self, serializer: Any, *args: object, **kwargs: object) -> Schema:
        if isinstance(serializer, DetailResponse):
            serializer = serializer.schema(self.reference(serializer.serializer))
        return dict(super()._get_response_for_code(serializer, *args, **kwargs))

    def _is_list_view(self, *args: object, **kwargs: object) -> bool:
        # drf-spectacular would wrap a list view's schema in an array; `ListResponse` has done so within the object.
        return False


def component_name(serializer: type[SQLSerializer]) -> str:
    # `vars`, because a subclass is a component of its own and must not inherit the name.
    return str(vars(serializer).get("component_name") or serializer.__name__.removesuffix("Serializer"))


class SQLSerializerExtension(OpenApiSerializerExtension):
    target_class = "foundation.api.sql_serializers.SQLSerializer"
    match_subclasses = True

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return component_name(self.target)

    def map_serializer(self, auto_schema: Any, direction: Direction) -> Schema:
        return dict(self.target.schema(auto_schema.reference))


class LenientInputSerializerExtension(OpenApiSerializerExtension):
    """Describes objects in whose place anything is accepted."""

    target_class = "foundation.api.fields.LenientInputSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: Direction) -> Schema:
        return auto_schema._map_serializer(self.target, direction, bypass_extensions=True) | {"type": ANY_TYPE[::-1]}


class ApiKeyExtension(OpenApiAuthenticationExtension):
    target_class = "organizations.authentication.ApiKeyAuthentication"
    name = "ApiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> Schema:
        return {"type": "apiKey", "in": "header", "name": "x-api-key"}


class StringFieldExtension(OpenApiSerializerFieldExtension):
    target_class = "foundation.api.fields.StringField"
    match_subclasses = True
    formats: ClassVar[dict[type, str]] = {
        fields.EmailField: "email",
        fields.URLField: "uri",
        fields.DateTimeField: "date-time",
        fields.UUIDField: "uuid",
    }

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        if isinstance(self.target, fields.AnyTextField):
            return {"type": ANY_TYPE} | ({} if self.target.cut else {"maxLength": self.target.max_length})
        if isinstance(self.target, fields.ChoiceField):
            return {"type": "string", "enum": self.target.choices}
        schema: Schema = {"type": "string", "maxLength": self.target.max_length}
        if name := self.formats.get(type(self.target)):
            schema["format"] = name
        return schema if self.target.required else or_null(schema)


def complete_responses(result: Schema, **_: Any) -> Schema:
    """Add the errors and headers that all operations have. A postprocessing hook of drf-spectacular."""
    for path, operation in ((path, each) for path, methods in result["paths"].items() for each in methods.values()):
        has_query = any(parameter["in"] == "query" for parameter in operation.get("parameters", ()))
        errors = COMMON_ERRORS | (QUERY_ERROR if has_query else {}) | (NOT_FOUND_ERROR if "{id}" in path else {})
        errors |= BODY_ERRORS if "requestBody" in operation else {}
        responses = {code: to_response(code, text) for code, text in errors.items()} | operation["responses"]
        operation["responses"] = {code: add_headers(code, response) for code, response in sorted(responses.items())}
    return result


def to_response(code: str, text: str) -> Schema:
    schema = VALIDATION_ERROR if code == "400" else ERROR
    return {"content": {"application/json": {"schema": schema}}, "description": text}


def add_headers(code: str, response: Schema) -> Schema:
    texts = REQUEST_ID_HEADER | (RATE_LIMIT_HEADERS if code != "401" else {})
    texts |= RETRY_AFTER_HEADER if code in {"429", "503"} else {}
    headers = {name: {"schema": {"type": "string"}, "description": text} for name, text in texts.items()}
    return response | {"headers": headers}
