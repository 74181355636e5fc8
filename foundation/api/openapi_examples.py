"""The examples of the OpenAPI document, from examples.json."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from foundation.api.sql_serializers import Schema


@cache
def examples() -> Schema:
    return dict(json.loads(Path(__file__).with_name("examples.json").read_text()))


def example_of(schema: Schema, components: Schema) -> Any:
    """Return an example of the schema: the one of its component if it has one, or else made of its members'."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return examples()[name] if name in examples() else example_of(components[name], components)
    if "examples" in schema or "enum" in schema:
        return [*schema.get("examples", ()), *schema.get("enum", ())][0]
    if "properties" not in schema and "items" not in schema:
        return None  # the schema of a value that may be null
    if "items" in schema:
        return [example_of(schema["items"], components)]
    return {name: example_of(schema["properties"][name], components) for name in schema["required"]}


def with_example(media: Schema, components: Schema) -> Schema:
    return media | {"example": example_of(media["schema"], components)}
