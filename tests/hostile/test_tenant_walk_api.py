"""Every URL of the API, requested with ids of another organization in every place: as if they did not exist.

Paths come from Django's resolver, parameters and bodies from the OpenAPI document. A field that can't be filled here,
or a URL that the document lacks, fails the test.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from organizations.models import Membership, Organization
from pipeline_backend.web.middleware import API_PATH
from tests.client import SCHEDULE_TIME, ApiClient
from tests.document import document
from tests.factories import make_api, make_member, snapshot_of
from tests.hostile.routes import API_ROUTES, Route
from tests.hostile.tenants import TenantData, cross_tenant_references, rolled_back
from tests.staff.sample_data import create_replays, create_sample_data

METHODS = ("get", "post", "patch", "put", "delete")
WITHOUT_KEY = {"schema", "docs", "guide"}
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
# A valid value for each required field of a body.
VALID_VALUES = {
    "external_reference": "walk-1",
    "schedule_time": SCHEDULE_TIME,
    "lead_email": "ada@example.com",
    "event_type_name": "ours call",
    "email": "ada@example.com",
    "first_name": "Ada",
    "source": "LANDING_PAGE",
    "questions_answers": [],
    "status_id": UNKNOWN_ID,
    "custom_fields": {},
    "url": "https://hooks.example.com/walk",
    "since": SCHEDULE_TIME,
    "note": "ours",
}
VALID_VALUES["rows"] = [dict(VALID_VALUES)]
ERASE = "/api/external/leads/{id}/erase"
ENDPOINTS = "/api/external/webhook-endpoints"
RESET = "/api/external/test/reset"
WITHOUT_BODY = {f"{ENDPOINTS}/{{id}}/rotate-secret", f"{ENDPOINTS}/{{id}}/test"}


@pytest.fixture
def other_data(other_organization: Organization) -> TenantData:
    """Globex's data: a row of every model."""
    create_sample_data(other_organization, "zyxwv")
    create_replays(other_organization)
    make_member(other_organization, "sol@zyxwv.example")
    return TenantData(other_organization)


@pytest.fixture
def own_api(organization: Organization) -> ApiClient:
    """An API client of Acme, which has a row of every model and a limit that isn't reached."""
    create_sample_data(organization, "ours")
    organization.rate_limit_per_minute = 1_000_000
    organization.save()
    api = make_api(organization)
    api.post(ENDPOINTS, {"url": "https://hooks.example.com/ours"})
    return api


def own_ids(api: ApiClient) -> dict[str, str]:
    """Return an id of each kind of object that paths have, by the kind."""
    kinds = ("appointments", "leads", "webhook-endpoints")
    return {kind: api.get_data(f"/api/external/{kind}")[0]["id"] for kind in kinds}


def fill_path(path: str, ids: dict[str, str]) -> str:
    return (
        path.replace("{id}", ids.get(path.split("/")[3], UNKNOWN_ID))
        .replace("{topic}", "lead.created")
        .replace("{source}", "SCHEDULER_A")
    )


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield path, method and OpenAPI operation of the whole document."""
    for path, item in document()["paths"].items():
        yield from ((path, method, item[method]) for method in METHODS if method in item)


def values_of(other_data: TenantData) -> list[str]:
    """Return an id of each model, and the other values by which a request can refer to the other organization."""
    return [
        *(other_data.id_of(model) for model, rows in other_data.rows.items() if rows),
        "sol@zyxwv.example",
        "zyxwv@leads.example",
        "zyxwv",
        "zyxwv call",
        "zyxwv campaign",
        str(other_data.rows[Membership][-1].user_id),
    ]


def resolve(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema, or the component that it refers to."""
    (schema,) = schema.get("allOf", [schema])  # a reference with a description
    name = schema.get("$ref", "").rpartition("/")[2]
    return dict(document()["components"]["schemas"][name]) if name else schema


def body_fields(operation: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas of the fields of the operation's body."""
    content = operation.get("requestBody", {}).get("content", {})
    return dict(resolve(content["application/json"]["schema"])["properties"]) if content else {}


def test_every_url_is_in_the_openapi_document():
    routes = [route for route in API_ROUTES if route.name and route.name not in WITHOUT_KEY]
    documented = {path for path, _, _ in operations()}

    assert {"/" + route.pattern.replace("<str:", "{").replace(">", "}") for route in routes} == documented
    # The route without a name answers all unknown URLs.
    assert [route.pattern for route in API_ROUTES if not route.name] == [API_PATH.pattern]


def test_an_id_of_another_organization_in_the_path_is_answered_like_an_unknown_id(
    own_api: ApiClient, other_data: TenantData
):
    problems = []
    for route, method in [(route, method) for route in API_ROUTES if route.arguments for method in METHODS]:
        expected = request_with_id(own_api, method, route, UNKNOWN_ID)
        # A method that the route doesn't have is refused whatever the path says.
        for value in values_of(other_data)[: 1 if expected.status_code == 405 else None]:
            response = request_with_id(own_api, method, route, value)
            if (response.status_code, response.content) != (expected.status_code, expected.content):
                problems.append(f"{method} {route.pattern} with {value}: {response.status_code}")
            if response.status_code < 400:
                problems.append(f"{method} {route.pattern} with {value} was answered")
    assert problems == []


def request_with_id(api: ApiClient, method: str, route: Route, id: str) -> Any:
    """Send a request with the id in each argument of the path, and a body that passes validation."""
    url = route.build_url(dict.fromkeys(route.arguments, id))
    return api.request(method.upper(), url, json.dumps({name: VALID_VALUES[name] for name in ("status_id", "since")}))


def test_a_query_parameter_finds_nothing_of_another_organization(own_api: ApiClient, other_data: TenantData):
    problems, ids = [], own_ids(own_api)
    for path, method, operation in operations():
        parameters = [parameter for parameter in operation.get("parameters", []) if parameter["in"] == "query"]
        if parameters and "{id}" in path:  # the history of a row of the own organization
            path = path.replace("{id}", own_api.get_data(path.partition("/{id}")[0])[0]["id"])
        for parameter in parameters:
            for value in values_for(parameter["schema"], other_data):
                response = own_api.get(fill_path(path, ids), {parameter["name"]: value})
                name = f"{method} {path}?{parameter['name']}={value}"
                problems += [f"{name} shows {word}" for word in other_data.words_in(response, [value])]
                if response.status_code not in (200, 400):
                    problems.append(f"{name}: {response.status_code}")
    assert problems == []


def test_a_body_reaches_nothing_of_another_organization(own_api: ApiClient, other_data: TenantData):
    problems: list[str] = []
    before = snapshot_of(other_data.organization)
    ids = own_ids(own_api)
    for path, method, operation in operations():
        fields = body_fields(operation)
        body = {name: VALID_VALUES[name] for name in fields if name in VALID_VALUES}
        if method in ("post", "patch") and not fields and path not in {*WITHOUT_BODY, ERASE, RESET}:
            problems.append(f"{method} {path} has a body that the document does not show")
        for field, schema in fields.items():
            for value in values_for(schema, other_data):
                with rolled_back() as writes:
                    name = f"{method} {path} with {field}={value}"
                    # A replay has either a delivery or a time.
                    changed_body = {**({} if field == "delivery_id" else body), field: fill(schema, value)}
                    response = getattr(own_api, method)(fill_path(path, ids), changed_body)
                    problems += [f"{name} shows {word}" for word in other_data.words_in(response, [value])]
                    if response.status_code >= 500:
                        problems.append(f"{name}: {response.status_code}")
                    if writes:
                        problems += [f"{name} made {column} refer to it" for column in cross_tenant_references()]
                        if snapshot_of(other_data.organization) != before:
                            problems.append(f"{name} changed the other organization")
    assert problems == []


def values_for(schema: dict[str, Any], other_data: TenantData) -> list[str]:
    """Return the values to try in a field: ids for an id, the others for a text, all for an object, else one."""
    values = values_of(other_data)
    if resolve(schema).get("properties"):
        return values
    schema = schema.get("items", schema)
    types = schema.get("type", "string")  # a list if it can be null
    if types != "string" and "string" not in types:
        return values[:1]
    is_id = schema.get("format") == "uuid"
    return [value for value in values if (value in other_data.ids and "_" not in value) == is_id]


def fill(schema: dict[str, Any], value: str) -> Any:
    """Return the value, or for an object's schema an object that has it in each field."""
    properties = resolve(schema).get("properties")
    return dict.fromkeys(properties, value) if properties else value


def test_the_bodies_of_these_tests_are_valid(own_api: ApiClient):
    bodies = {
        path: {name: VALID_VALUES[name] for name in body_fields(operation) if name in VALID_VALUES}
        for path, method, operation in operations()
        if method == "post" and ("{" not in path or path.startswith(ENDPOINTS))
    }

    ids = own_ids(own_api)
    with rolled_back():
        status_codes = {path: own_api.post(fill_path(path, ids), body).status_code for path, body in bodies.items()}

    # In this order: the rescheduling and the cancellation have the reference of the booking, the opt-in its lead.
    assert status_codes == {
        "/api/external/appointments": 201,
        "/api/external/appointments/reschedule": 200,
        "/api/external/appointments/cancel": 200,
        "/api/opt-in/submit": 200,
        ENDPOINTS: 201,
        **dict.fromkeys(WITHOUT_BODY, 200),
        f"{ENDPOINTS}/{{id}}/replay": 200,
        "/api/external/leads": 200,
        "/api/external/leads/import": 200,
        "/api/external/appointments/import": 200,
        RESET: 409,
    }
