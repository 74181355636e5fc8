"""The OpenAPI document, made of the same serializers, input fields and filters that serve the requests.

Views are documented by drf-spectacular's `extend_schema`. This module teaches it our output serializers, input fields
and key, and the outer objects of our responses; `complete_operations` adds what all operations have in common. Client
generators read the document: what has a shape is a named component, and a string that may get more values has no enum.
"""

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from drf_spectacular import extensions
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import Direction, OpenApiParameter

from foundation.api import fields
from foundation.api.filters import ListFilter
from foundation.api.openapi_examples import with_example
from foundation.api.pagination import DEFAULT_LIMIT, MAX_LIMIT, MAX_PAGE, START
from foundation.api.sql_serializers import Schema, SQLSerializer, or_null

PAGINATION_MEMBERS = {
    "page": {"type": "integer", "minimum": 1, "description": "The number of the page."},
    "limit": {"type": "integer", "minimum": 1, "description": "The largest number of items on a page."},
    "total": {
        "type": ["integer", "null"],
        "minimum": 0,
        "description": "The number of items on all pages; null only with count=false.",
    },
    "totalPages": {
        "type": ["integer", "null"],
        "minimum": 0,
        "description": "The number of pages; null only with count=false.",
    },
    "hasNext": {"type": "boolean", "description": "Whether there is a next page."},
    "hasPrev": {"type": "boolean", "description": "Whether there is a previous page."},
}
NEXT_CURSOR: Schema = {
    "type": ["string", "null"],
    "description": "The cursor of the next page, null at the end. Present only if the request has a cursor.",
}
MESSAGE: Schema = {"type": "string", "description": "A sentence for people, whose words may change."}
ERROR_MEMBERS = {"status": {"type": "string", "enum": ["error"], "description": "Always error."}, "message": MESSAGE}
FIELD_ERRORS: Schema = {
    "type": "object",
    "additionalProperties": {"type": "array", "items": {"type": "string"}},
    "description": "The messages by the name of the field or parameter; absent if the body isn't valid JSON.",
}


def component(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def object_schema(description: str, members: Schema) -> Schema:
    return {"type": "object", "description": description, "properties": members, "required": list(members)}


ERROR, VALIDATION_ERROR, PAGINATION = component("Error"), component("ValidationError"), component("Pagination")
pagination = object_schema("The place of a page in its list.", PAGINATION_MEMBERS)
validation_error = object_schema("A request with errors.", ERROR_MEMBERS)
COMPONENTS = {
    "Error": object_schema("An error.", ERROR_MEMBERS),
    "ValidationError": validation_error | {"properties": {**ERROR_MEMBERS, "errors": FIELD_ERRORS}},
    "Pagination": pagination | {"properties": {**PAGINATION_MEMBERS, "nextCursor": NEXT_CURSOR}},
}

COMMON_ERRORS = {
    "401": "The key is missing, unknown, revoked or expired.",
    "403": "The key lacks the required scope.",
    "429": "Too many requests, or too many at once. Retry after the number of seconds in Retry-After.",
    "503": "The database is briefly unavailable. Retry after the number of seconds in Retry-After.",
}
QUERY_ERROR = {"400": "A field or parameter is missing, invalid or unknown; `errors` has the messages by name."}
TOO_LARGE, WRONG_TYPE = "The body is larger than 1 MiB.", "The body is not application/json, or is compressed."
BODY_ERRORS = QUERY_ERROR | {"413": TOO_LARGE, "415": WRONG_TYPE}
KEY_ERRORS = {
    "400": "The Idempotency-Key is invalid.",
    "409": "A request with the same Idempotency-Key is in progress. Retry after the number of seconds in Retry-After.",
    "422": "The Idempotency-Key was sent with another request.",
}
NOT_FOUND_ERROR = {"404": "The organization has no object with this id."}

REQUEST_ID_HEADER = {"X-Request-Id": "The request's id: the one you sent, or a new one."}
RATE_LIMIT_HEADERS = {
    "RateLimit-Policy": 'The limit. `"default";q=600;w=60` means 600 requests in each window of 60 seconds.',
    "RateLimit": 'What remains of it. `"default";r=599;t=42`: 599 requests, and the next window begins in 42 seconds.',
}
RETRY_AFTER_HEADER = {"Retry-After": "Seconds to wait before you send the same request again."}


@dataclass(frozen=True)
class DetailResponse:
    """A response with an object as `data`, and the message it has."""

    serializer: type[SQLSerializer]
    message: str
    suffix: ClassVar[str] = "Response"
    outcome: ClassVar[Schema] = {"success": {"type": "boolean", "description": "Always true.", "examples": [True]}}

    def members(self, data: Schema) -> Schema:
        return {**self.outcome, "message": {**MESSAGE, "examples": [self.message]}, "data": data}


@dataclass(frozen=True)
class ActionResponse(DetailResponse):
    """A response of a write; `represented` is the object that `Prefer` can ask for, after its name."""

    represented: tuple[str, type[SQLSerializer]] | None = None
    outcome: ClassVar[Schema] = {"status": {"type": "string", "enum": ["success"], "description": "Always success."}}


class UpdateResponse(ActionResponse):
    """A response of a write that returns the object as its detail does."""

    suffix = "UpdateResponse"


class ChangedResponse(DetailResponse):
    """A 412: the object isn't in the version that `If-Match` names, and `data` is the object as it is now."""

    suffix = "ChangedResponse"
    outcome = {"status": ERROR_MEMBERS["status"]}


@dataclass(frozen=True)
class ListResponse(DetailResponse):
    """A response with an array as `data`, and `extra` members beside it."""

    extra: Schema = field(default_factory=lambda: {"pagination": PAGINATION})
    suffix: ClassVar[str] = "ListResponse"

    def members(self, data: Schema) -> Schema:
        items = {"type": "array", "items": data, "description": "The items, in the order of the list."}
        return super().members(items) | self.extra


PREFER = OpenApiParameter(
    "Prefer",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="`return=representation` adds the object, as its detail shows it, beside `data`; "
    "`Preference-Applied` in the response confirms it.",
)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    OpenApiParameter.HEADER,
    description="A new random text for each request, and the same for its repeats, which get the stored response for "
    "24 hours, with `Idempotent-Replayed: true`. A known `external_reference` decides before it, "
    "and the rows of an import are safe to repeat without it.",
)
IF_MATCH = OpenApiParameter(
    "If-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The `updated_at` that the object must have, in quotation marks. Another one is a 412.",
)


CALL_ID = "The call's id on the analysis platform: up to 255 printable characters."
SYSTEM_ID = "The system's id of the object, URL-encoded."
PATH_PARAMETERS = [
    OpenApiParameter(name, type, OpenApiParameter.PATH, description=description)
    for name, type, description in (
        ("id", OpenApiTypes.UUID, "The id of the object."),
        ("note_id", OpenApiTypes.UUID, "The id of the note."),
        ("call_analysis_call_id", OpenApiTypes.STR, CALL_ID),
        ("source", OpenApiTypes.STR, "The system that manages the object."),
        ("external_reference", OpenApiTypes.STR, SYSTEM_ID),
        ("reference", OpenApiTypes.STR, SYSTEM_ID),
    )
]


def list_parameters(filters: type[ListFilter]) -> list[OpenApiParameter]:
    page = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": 1}
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
    described: list[tuple[str, Schema, str]] = [
        ("page", page, "Page number."),
        ("limit", limit, "Number of items on a page."),
        ("cursor", {"type": "string"}, f"In place of page: {START}, then the nextCursor of the page before."),
        ("count", {"type": "boolean", "default": True}, "false: nothing is counted; the totals are null."),
    ]
    described += [(name, filter.schema, filter.help_text) for name, filter in filters.declared_filters.items()]
    return [query_parameter(*parameter) for parameter in described]


def query_parameter(name: str, schema: Schema, description: str) -> OpenApiParameter:
    """Return the parameter; an array is sent as one value, separated by commas."""
    explode = False if schema["type"] == "array" else None
    return OpenApiParameter(name, schema, description=description, explode=explode)


class ApiSchema(AutoSchema):
    """Knows the responses and the parameters of paths above."""

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
        in_path = [parameter for parameter in PATH_PARAMETERS if f"{{{parameter.name}}}" in self.path]
        return in_path + ([] if self.method == "GET" else [IDEMPOTENCY_KEY])

    def _get_response_for_code(self, serializer: Any, *args: object, **kwargs: object) -> Schema:
        if not isinstance(serializer, DetailResponse):
            return dict(super()._get_response_for_code(serializer, *args, **kwargs))
        name = component_name(serializer.serializer) + serializer.suffix
        schema = object_schema(f"{serializer.message}.", serializer.members(self.reference(serializer.serializer)))
        if isinstance(serializer, ActionResponse) and serializer.represented:
            member, represented = serializer.represented
            schema["properties"][member] = self.reference(represented)
        response = ResolvedComponent(name, ResolvedComponent.SCHEMA, schema, name)
        self.registry.register_on_missing(response)
        return dict(super()._get_response_for_code(response.ref, *args, **kwargs)) | {"description": serializer.message}

    def _is_list_view(self, *args: object, **kwargs: object) -> bool:
        # drf-spectacular would wrap a list view's schema in an array; `ListResponse` has done so within the object.
        return False


def component_name(serializer: type[SQLSerializer]) -> str:
    return serializer.__name__.removesuffix("Serializer")


class SQLSerializerExtension(extensions.OpenApiSerializerExtension):
    target_class = "foundation.api.sql_serializers.SQLSerializer"
    match_subclasses = True

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return component_name(self.target)

    def map_serializer(self, auto_schema: Any, direction: Direction) -> Schema:
        return dict(self.target.schema(auto_schema.reference))


class ApiKeyExtension(extensions.OpenApiAuthenticationExtension):
    target_class = "organizations.authentication.ApiKeyAuthentication"
    name = "ApiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> Schema:
        return {"type": "apiKey", "in": "header", "name": "x-api-key"}


class StringFieldExtension(extensions.OpenApiSerializerFieldExtension):
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
            # Any JSON value is accepted, but generators need one type.
            return or_null({"type": "string"} | ({} if self.target.cut else {"maxLength": self.target.max_length}))
        if isinstance(self.target, fields.ChoiceField):
            return {"type": "string", "enum": self.target.choices}
        schema: Schema = {"type": "string", "maxLength": self.target.max_length}
        if name := self.formats.get(type(self.target)):
            schema["format"] = name
        # Of an update, drf-spectacular adds null to the fields that can be cleared.
        is_update = isinstance(self.target.parent, fields.UpdateInputSerializer)
        return schema if self.target.required or is_update else or_null(schema)


class ObjectFieldExtension(extensions.OpenApiSerializerFieldExtension):
    target_class = "foundation.api.fields.ObjectField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> Schema:
        return dict(self.target.openapi)


def complete_operations(result: Schema, **_: Any) -> Schema:
    """Add the errors, headers and examples that operations have. A postprocessing hook of drf-spectacular."""
    components = result["components"]["schemas"] = dict(sorted((result["components"]["schemas"] | COMPONENTS).items()))
    texts = REQUEST_ID_HEADER | RATE_LIMIT_HEADERS | RETRY_AFTER_HEADER
    result["components"]["headers"] = {
        name: {"schema": {"type": "string"}, "description": text} for name, text in texts.items()
    }
    operations = [(path, *item) for path, methods in result["paths"].items() for item in methods.items()]
    for path, method, operation in operations:
        has_query = any(parameter["in"] == "query" for parameter in operation.get("parameters", ()))
        errors = COMMON_ERRORS | (QUERY_ERROR if has_query else {}) | (NOT_FOUND_ERROR if "{id}" in path else {})
        if method != "get":
            errors |= KEY_ERRORS
        if body := operation.get("requestBody"):
            errors |= BODY_ERRORS
            body["content"] = {"application/json": with_example(body["content"]["application/json"], components)}
        responses = {code: to_response(code, text) for code, text in errors.items()} | operation["responses"]
        operation["responses"] = {
            code: complete_response(code, response, components) for code, response in sorted(responses.items())
        }
    return result


def to_response(code: str, text: str) -> Schema:
    schema = VALIDATION_ERROR if code == "400" else ERROR
    return {"content": {"application/json": {"schema": schema}}, "description": text}


def complete_response(code: str, response: Schema, components: Schema) -> Schema:
    names = [*REQUEST_ID_HEADER, *(RATE_LIMIT_HEADERS if code != "401" else ())]
    names += RETRY_AFTER_HEADER if code in {"409", "429", "503"} else ()
    headers = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
    if "content" not in response:
        return response | {"headers": headers}
    media = response["content"]["application/json"]
    example = with_example(media, components)
    if media["schema"] == ERROR:
        example["example"] = {"status": "error", "message": response["description"]}
    return response | {"headers": headers, "content": {"application/json": example}}
