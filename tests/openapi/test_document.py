"""What the OpenAPI document promises to people and programs that read it (docs/interface.md, G39)."""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest

from statuses.models import StatusRole
from tests.client import ApiClient
from tests.document import document, strict_components, validator_of
from tests.openapi.documents import STORED, document_text

SUBMIT = "/api/opt-in/submit"
OPERATIONS = [
    pytest.param(operation, id=operation["operationId"])
    for item in document()["paths"].values()
    for operation in item.values()
]
POSTS = {path: item["post"] for path, item in document()["paths"].items() if "post" in item and "{" not in path}
# The interface promises that these don't grow (docs/interface.md).
CLOSED = [
    ["BOOKED", "CANCELED", "NO_SHOW"],
    ["success"],
    ["error"],
    ["SALES_CALL", "COACHING_CALL", "TRIAGE_CALL"],
    StatusRole.values,
    ["LEAD", "APPOINTMENT", "BOTH"],
    ["SCHEDULER_A", "SCHEDULER_B", "SCHEDULER_C", "MANUAL"],
    # Only requests have these.
    ["LEAD", "HOST"],
    ["LEAD", "HOST", "SYSTEM"],
    ["remember"],
]


def test_the_stored_document_is_the_one_that_is_served():
    if os.environ.get("UPDATE_DOCS"):
        STORED.write_text(document_text())

    assert STORED.read_text() == document_text(), "run UPDATE_DOCS=1 make test ARGS=tests/openapi/test_document.py"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_parameter_and_response_is_described(operation):
    parts = [operation, *operation.get("parameters", []), *operation["responses"].values()]

    assert [part for part in parts if not part.get("description")] == []


def properties(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield the name and schema of each property anywhere in the node."""
    if isinstance(node, list):
        for item in node:
            yield from properties(item)
    elif isinstance(node, dict):
        if isinstance(node.get("properties"), dict):
            yield from node["properties"].items()
        for name, value in node.items():
            if name not in {"example", "examples"}:
                yield from properties(value)


def test_every_property_is_described_or_refers_to_a_described_component():
    components = document()["components"]["schemas"]

    assert [name for name, schema in components.items() if not schema.get("description")] == []
    assert [name for name, schema in properties(document()) if not schema.keys() & {"description", "$ref"}] == []


def test_only_enumerations_that_never_grow_are_closed():
    topics = list(document()["webhooks"])
    opt_in_sources = document()["components"]["schemas"]["OptInItem"]["properties"]["source"]["enum"]

    for name, schema in properties(document()["components"]):
        values = [value for value in schema.get("enum", []) if value is not None]
        is_known = values in CLOSED or set(values) <= set(opt_in_sources) or (name == "type" and values[0] in topics)
        assert is_known, (name, values)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_examples_are_valid(operation):
    contents = [response["content"] for response in operation["responses"].values() if "content" in response]
    contents += [operation["requestBody"]["content"]] if "requestBody" in operation else []

    for content in contents:
        example = content["application/json"]["example"]
        assert list(validator_of(content).iter_errors(example)) == []


@pytest.mark.parametrize("topic", document()["webhooks"])
def test_examples_of_webhooks_are_valid(topic):
    content = document()["webhooks"][topic]["post"]["requestBody"]["content"]

    assert list(validator_of(content).iter_errors(content["application/json"]["example"])) == []


def test_components_have_a_strict_copy():
    """The tests' own tool: an undocumented member is an error."""
    assert strict_components()["schemas"]["LeadItem"]["additionalProperties"] is False


@pytest.mark.django_db
def test_the_example_of_each_post_works_as_it_stands(api: ApiClient):
    """Swagger fills these in; the cancellation's and the rescheduling's follow the booking's."""
    bodies = {
        path: operation["requestBody"]["content"]["application/json"]["example"]
        for path, operation in POSTS.items()
        if "requestBody" in operation
    }

    codes = {path: api.post(path, bodies[path]).status_code for path in sorted(bodies)}

    changes = {*(f"/api/external/appointments/{name}" for name in ("cancel", "import", "reschedule")), SUBMIT}
    assert codes == dict.fromkeys(bodies, 201) | dict.fromkeys([*changes, "/api/external/leads/import"], 200)


def test_the_document_names_its_server_version_license_and_tags():
    served = json.loads(json.dumps(document()))

    assert (served["info"]["license"]["name"], bool(served["info"]["contact"]["url"])) == ("MIT", True)
    assert {tag["name"] for tag in served["tags"]} == {
        tag
        for item in [*served["paths"].values(), *served["webhooks"].values()]
        for operation in item.values()
        for tag in operation["tags"]
    }
    assert served["servers"] == [{"url": served["servers"][0]["url"]}]


def test_lists_of_values_are_arrays_separated_by_commas():
    parameters = {
        parameter["name"]: parameter
        for operation in (parameter.values[0] for parameter in OPERATIONS)
        for parameter in operation.get("parameters", [])
    }

    for name in ("call_category", "outcome_role", "status_role", "type"):
        assert (parameters[name]["schema"]["type"], parameters[name]["explode"]) == ("array", False)
