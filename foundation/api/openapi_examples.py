"""The examples of the OpenAPI document, from examples.json."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from foundation.api.sql_serializers import Schema


@cache
def examples() -> Schema:
    return dict(json.loads(Path(__file__).with_name("examples.json").read_text()))


def example_named(name: str) -> Any:
    """Return the component's own example, with the values of its `$base` that it doesn't have; None without one."""
    known = examples().get(name)
    return example_named(known["$base"]) | known if isinstance(known, dict) and "$base" in known else known


def example_of(schema: Schema, components: Schema, known: Any = None) -> Any:
    """Return an example of the schema: `known`, completed by its members'. A component may have one."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return example_of(components[name], components, example_named(name))
    if known and "properties" in schema:
        return {
            name: known[name] if name in known else example_of(member, components)
            for name, member in schema["properties"].items()
            if name in known or name in schema.get("required", ())
        }
    if known:
        return known
    if "examples" in schema or "enum" in schema:
        return [*schema.get("examples", ()), *schema.get("enum", ())][0]
    if "properties" not in schema and "items" not in schema:
        return None  # the schema of a value that may be null
    if "items" in schema:
        return [example_of(schema["items"], components)]
    return {name: example_of(schema["properties"][name], components) for name in schema["required"]}


def with_example(media: Schema, components: Schema) -> Schema:
    return media | {"example": example_of(media["schema"], components)}
