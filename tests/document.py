"""The OpenAPI document as a judge of responses and events: everything that tests receive is compared with it."""

import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

from jsonschema_rs import Draft202012Validator

from pipeline_backend.web.openapi_views import rendered_schema

Schema = dict[str, Any]
# The answers to malformed requests, and to those that no operation takes, are the same everywhere.
UNDOCUMENTED_CODES = {400, 405, 413, 415, 431, 500}


@cache
def document() -> Schema:
    """Return the document, as served."""
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
    schema = without_other_members(content["application/json"]["schema"])
    return Draft202012Validator(schema | {"components": strict_components()}, validate_formats=True)


@cache
def response_validators() -> list[tuple[re.Pattern[str], dict[str, dict[str, Draft202012Validator | None]]]]:
    """Return a pattern for each path, and the validators of its responses by method and code."""
    return [
        (
            re.compile(re.sub(r"\{\w+\}", "[^/]+", path)),
            {
                method.upper(): {
                    code: validator_of(response["content"]) if "content" in response else None
                    for code, response in operation["responses"].items()
                }
                for method, operation in item.items()
            },
        )
        # The paths without parameters first: they match those with one, too.
        for path, item in sorted(document()["paths"].items(), key=lambda item: "{" in item[0])
    ]


@cache
def event_validators() -> dict[str, Draft202012Validator]:
    """Return a validator for the bodies of each topic."""
    return {name: validator_of(item["post"]["requestBody"]["content"]) for name, item in document()["webhooks"].items()}


def response_errors(method: str, path: str, status_code: int, body: bytes) -> list[str]:
    """Return where a response differs from the document; nothing for a path or method that it doesn't have."""
    matching = (methods for pattern, methods in response_validators() if pattern.fullmatch(path))
    responses = next(matching, {}).get(method, {})
    if not responses:
        return []
    validator = responses.get(str(status_code))
    if status_code == 204 and str(status_code) in responses:
        return ["a body"] if body else []
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
        for error in event_validators()[body["type"]].iter_errors(body)
    ]
