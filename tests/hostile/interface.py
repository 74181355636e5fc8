"""The interface as its own document describes it: a new route, field or parameter is tested by itself, or missed loudly."""

import copy
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from pipeline_backend.web.openapi_views import rendered_schema
from tests.client import booking_payload, opt_in_payload

DOCUMENT = json.loads(rendered_schema())
UNKNOWN = "00000000-0000-7000-8000-000000000000"
CREATE, CANCEL = "POST /api/external/appointments", "POST /api/external/appointments/cancel"
SUBMIT, MOVE = "POST /api/opt-in/submit", "PATCH /api/external/leads/{id}/status"
ANSWERS = [
    {"question": "Why?", "answer": "So.", "position": 1},
    {"question": "Really?", "answer": "Yes.", "position": 2},
]
GOOD: dict[str, dict[str, Any]] = {
    CREATE: booking_payload(),
    CANCEL: {"external_reference": "ref-0"},
    SUBMIT: opt_in_payload(questions_answers=ANSWERS, traffic={"utm_source": "letter"}),
    MOVE: {"status_id": UNKNOWN},
}
HERE = "@here@"


class Field(NamedTuple):
    """A member of a body: the operation, its dotted path, what the document says of it."""

    call: str
    path: str
    schema: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.call.rsplit('/', 1)[1]}:{self.path}"

    @property
    def kind(self) -> str:
        """string, integer, array or object."""
        kinds = self.schema["type"]
        return kinds if isinstance(kinds, str) else kinds[0]

    @property
    def format(self) -> str:
        """email, uri, uuid, date-time, enum, or nothing."""
        return "enum" if "enum" in self.schema else self.schema.get("format", "")


class Parameter(NamedTuple):
    """A query parameter of a list."""

    path: str
    name: str
    schema: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.path.rsplit('/', 1)[1]}?{self.name}"


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema itself, for a reference."""
    return DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema


def operations() -> dict[str, dict[str, Any]]:
    """Each method and path, with what the document says of it."""
    return {
        f"{method.upper()} {path}": said for path, item in DOCUMENT["paths"].items() for method, said in item.items()
    }


def bodies() -> dict[str, dict[str, Any]]:
    """The operations that take a body, with its schema."""
    takers = {call: said["requestBody"] for call, said in operations().items() if "requestBody" in said}
    return {call: resolved(body["content"]["application/json"]["schema"]) for call, body in takers.items()}


def members(call: str, schema: dict[str, Any], prefix: str = "") -> Iterator[Field]:
    """Every member of an object, and of what is in it; of an array its second element stands for all."""
    for name, member in schema["properties"].items():
        said = resolved(member)
        yield Field(call, f"{prefix}{name}", said)
        if "properties" in said:
            yield from members(call, said, f"{prefix}{name}.")
        if "items" in said:
            yield from members(call, resolved(said["items"]), f"{prefix}{name}.1.")


def fields() -> list[Field]:
    """Every field of every body."""
    return [field for call, schema in bodies().items() for field in members(call, schema)]


def parameters() -> list[Parameter]:
    """Every query parameter of every list."""
    reads = {call.split(" ")[1]: said.get("parameters", []) for call, said in operations().items()}
    return [
        Parameter(path, one["name"], one["schema"])
        for path, all in reads.items()
        for one in all
        if one["in"] == "query"
    ]


def with_value(call: str, path: str, value: str) -> str:
    """The good body as JSON, with this JSON in a field's place."""
    body = copy.deepcopy(GOOD[call])
    node: Any = body
    *above, last = path.split(".")
    for step in above:
        node = node[int(step)] if isinstance(node, list) else node[step]
    node[int(last) if isinstance(node, list) else last] = HERE
    return json.dumps(body).replace(f'"{HERE}"', value)
