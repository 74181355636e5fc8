"""The OpenAPI document as a judge of responses and events: everything that tests receive is compared with it."""

import json
import re
from collections.abc import Iterable
from functools import cache
from threading import Lock
from typing import Any

from jsonschema_rs import Draft202012Validator

from pipeline_backend.web.openapi_views import rendered_schema

Schema = dict[str, Any]
# The answers to malformed requests, and to those that no operation takes, are the same everywhere.
UNDOCUMENTED_CODES = {400, 405, 413, 415, 431, 500}


DOCUMENT_LOCK = Lock()  # drf-spectacular's first run loads its extensions, which threads can't do at the same time


@cache
def document() -> Schema:
    """Return the document, as served."""
    with DOCUMENT_LOCK:
        return dict(json.loads(rendered_schema()))


@cache
def strict_components() -> Schema:
    """Return the components, changed so that an object with an undocumented member is invalid."""
    return {"schemas": without_other_members(document()["components"]["schemas"])}


def without_other_members(node: Any) -> Any:
    if isinstance(node, list):
        return [without_other_members(item) for item in node]
    if not isinstance(node, dict):
        return node
    is_object = node.get("type") == "object" and "additionalProperties" not in node
    return {name: without_other_members(item) for name, item in node.items()} | (
        {"additionalProperties": False} if is_object else {}
    )


def validator_of(content: Schema) -> Draft202012Validator:
    return validator(json.dumps(without_other_members(content["application/json"]["schema"])))


@cache
def validator(schema: str) -> Draft202012Validator:
    """Many operations have the same answers."""
    return Draft202012Validator(json.loads(schema) | {"components": strict_components()}, validate_formats=True)


@cache
def path_patterns() -> list[tuple[re.Pattern[str], str]]:
    """Return a pattern for each path. The paths without parameters come first: they match those with one, too."""
    paths = sorted(document()["paths"], key=lambda path: "{" in path)
    return [(re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), path) for path in paths]


# Each validator is made when it is needed: a process needs few of the four hundred.
@cache
def response_validator(path: str, method: str, code: str) -> Draft202012Validator | None:
    response = document()["paths"][path][method]["responses"].get(code, {})
    return validator_of(response["content"]) if "content" in response else None


@cache
def event_validator(topic: str) -> Draft202012Validator:
    """Return the validator for the bodies of a topic."""
    return validator_of(document()["webhooks"][topic]["post"]["requestBody"]["content"])


def response_errors(method: str, path: str, status_code: int, body: bytes) -> list[str]:
    """Return where a response differs from the document; nothing for a path or method that it doesn't have."""
    template = next((template for pattern, template in path_patterns() if pattern.fullmatch(path)), None)
    operation = document()["paths"].get(template, {}).get(method.lower(), {})
    if not operation:
        return []
    code = str(status_code)
    if status_code == 204 and code in operation["responses"]:
        return ["a body"] if body else []
    validator = response_validator(template, method.lower(), code)
    if validator is None:
        return [] if status_code in UNDOCUMENTED_CODES else [f"{status_code} is not documented"]
    return [
        f"{'/'.join(map(str, error.instance_path))}: {error.message}"
        for error in validator.iter_errors(json.loads(body))
    ]


def event_errors(bodies: Iterable[Schema]) -> list[str]:
    """Return where the bodies of events differ from what the document says of their topic."""
    return [
        f"{body['type']}, {'/'.join(map(str, error.instance_path))}: {error.message}"
        for body in bodies
        for error in event_validator(body["type"]).iter_errors(body)
    ]
