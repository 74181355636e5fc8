"""Compares the bodies of events with the OpenAPI document."""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from openapi_schema_validator import OAS31Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from tests.client import ApiClient


@cache
def validators() -> dict[str, OAS31Validator]:
    """Return a validator for the bodies of each topic, which also refuses undocumented fields."""
    document = ApiClient(None).get("/api/schema", accept="application/json").json()
    registry = Registry().with_resource("urn:api", Resource.from_contents(document, default_specification=DRAFT202012))
    schemas = {
        name: item["post"]["requestBody"]["content"]["application/json"]["schema"] | {"additionalProperties": False}
        for name, item in document["webhooks"].items()
    }
    return {
        # References start at the document's root, so the registry resolves them.
        name: OAS31Validator(json.loads(json.dumps(schema).replace('"#/', '"urn:api#/')), registry=registry)
        for name, schema in schemas.items()
    }


def schema_errors(bodies: Iterable[dict[str, Any]]) -> list[str]:
    """Return where the bodies differ from what the OpenAPI document says of their type."""
    return [
        f"{body['type']}, {error.json_path}: {error.message}"
        for body in bodies
        for error in validators()[body["type"]].iter_errors(body)
    ]
