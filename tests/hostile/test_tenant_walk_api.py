"""Every address of the interface, asked with another organization's ids wherever a value can be given: as if they did not exist (T1 to T7, T14).

Paths come from the URL map; parameters and bodies from the OpenAPI document. A field that this walk does not know how to
fill, or an address that the document lacks, is a finding.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from organizations.models import Membership, Organization
from pipeline_backend.web.openapi_views import rendered_schema
from tests.admin.sample_data import create_replays, create_sample_data
from tests.client import SCHEDULE_TIME, ApiClient
from tests.factories import make_api, make_member, snapshot_of
from tests.hostile.routes import API_ROUTES, Route
from tests.hostile.tenants import TenantData, cross_tenant_references, rolled_back

METHODS = ("get", "post", "patch", "put", "delete")
KEYLESS = {"schema", "docs"}
UNKNOWN = "00000000-0000-7000-8000-000000000000"
# A good value for each field that a body may need.
OWN = {
    "external_reference": "walk-1",
    "schedule_time": SCHEDULE_TIME,
    "lead_email": "ada@example.com",
    "event_type_name": "ours call",
    "email": "ada@example.com",
    "first_name": "Ada",
    "source": "LANDING_PAGE",
    "questions_answers": [],
    "status_id": UNKNOWN,
}


@pytest.fixture
def theirs(other_organization: Organization) -> TenantData:
    """Globex, which has one of everything."""
    create_sample_data(other_organization, "zyxwv")
    create_replays(other_organization)
    make_member(other_organization, "sol@zyxwv.example")
    return TenantData(other_organization)


@pytest.fixture
def ours(organization: Organization) -> ApiClient:
    """Acme's integrator, who has one of everything, and no limit in the way."""
    create_sample_data(organization, "ours")
    organization.rate_limit_per_minute = 1_000_000
    organization.save()
    return make_api(organization)


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, method and what the document says, of each."""
    for path, item in json.loads(rendered_schema())["paths"].items():
        yield from ((path, method, item[method]) for method in METHODS if method in item)


def values_of(theirs: TenantData) -> list[str]:
    """An id of each kind of row, and what else names something of the stranger."""
    ids = [theirs.id_of(model) for model, rows in theirs.rows.items() if rows]
    return [
        *ids,
        "sol@zyxwv.example",
        "zyxwv@leads.example",
        "zyxwv",
        "zyxwv call",
        "zyxwv campaign",
        str(theirs.rows[Membership][-1].user_id),
    ]


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema behind a reference."""
    name = schema.get("$ref", "").rpartition("/")[2]
    return dict(json.loads(rendered_schema())["components"]["schemas"][name]) if name else schema


def body_schema(operation: dict[str, Any]) -> dict[str, Any]:
    """The fields of the body that the operation takes."""
    content = operation.get("requestBody", {}).get("content", {})
    return dict(resolved(content["application/json"]["schema"])["properties"]) if content else {}


def test_every_address_is_in_the_document():
    keyed = [route for route in API_ROUTES if route.name and route.name not in KEYLESS]
    documented = {path for path, _, _ in operations()}

    assert {"/" + route.pattern.replace("<str:", "{").replace(">", "}") for route in keyed} == documented
    assert [route.pattern for route in API_ROUTES if not route.name] == ["api/"]  # whatever else there is not


def test_an_id_in_a_path_is_one_that_nobody_has(ours: ApiClient, theirs: TenantData):
    findings = []
    for route, method in [(route, method) for route in API_ROUTES if route.arguments for method in METHODS]:
        for value in values_of(theirs):
            foreign, unknown = (ask(ours, method, filled(route, id)) for id in (value, UNKNOWN))
            if (foreign.status_code, foreign.content) != (unknown.status_code, unknown.content):
                findings.append(f"{method} {route.pattern} with {value}: {foreign.status_code}")
            if foreign.status_code < 400:
                findings.append(f"{method} {route.pattern} with {value} was answered")
    assert findings == []


def filled(route: Route, id: str) -> str:
    """The address with the id in each of its places."""
    return route.build_url(dict.fromkeys(route.arguments, id))


def ask(api: ApiClient, method: str, path: str) -> Any:
    """A request that gets past what is asked of its body."""
    return api.request(
        method.upper(), path, json.dumps({name: value for name, value in OWN.items() if name == "status_id"})
    )


def test_a_parameter_finds_nothing_of_the_stranger(ours: ApiClient, theirs: TenantData):
    findings = []
    for path, method, operation in operations():
        names = [one["name"] for one in operation.get("parameters", []) if one["in"] == "query"]
        for name in names:
            for value in values_of(theirs):
                answer = ours.get(path, {name: value})
                seen = theirs.words_in(answer, [value])
                findings += [f"{method} {path}?{name}={value} shows {word}" for word in seen]
                if answer.status_code not in (200, 400):
                    findings.append(f"{method} {path}?{name}={value}: {answer.status_code}")
    assert findings == []


def test_a_body_reaches_nothing_of_the_stranger(ours: ApiClient, theirs: TenantData):
    findings: list[str] = []
    before = snapshot_of(theirs.organization)
    for path, method, operation in operations():
        fields = body_schema(operation)
        own = {name: OWN[name] for name in fields if name in OWN}
        if method in ("post", "patch") and not fields:
            findings.append(f"{method} {path} has a body that the document does not show")
        for name, schema in fields.items():
            for value in fitting(schema, theirs):
                findings += sent(
                    ours,
                    theirs,
                    before,
                    method,
                    path.replace("{id}", UNKNOWN),
                    {**own, name: nested(schema, value)},
                    value,
                )
    assert findings == []


def fitting(schema: dict[str, Any], theirs: TenantData) -> list[str]:
    """For an id every id; for a text what names something; for an object both."""
    values = values_of(theirs)
    is_id = schema.get("format") == "uuid"
    return (
        values
        if resolved(schema).get("properties")
        else [value for value in values if (value in theirs.ids and "_" not in value) == is_id]
    )


def nested(schema: dict[str, Any], value: str) -> Any:
    """The value, or an object that has it in each of its fields."""
    inner = resolved(schema).get("properties")
    return dict.fromkeys(inner, value) if inner else value


def sent(
    ours: ApiClient, theirs: TenantData, before: Any, method: str, path: str, body: dict[str, Any], value: str
) -> list[str]:
    """What is wrong with the answer, or with what it did."""
    with rolled_back() as writes:
        answer = getattr(ours, method)(path, body)
        name = f"{method} {path} {body}"
        findings = [f"{name} shows {word}" for word in theirs.words_in(answer, [value])]
        findings += [f"{name}: {answer.status_code}"] if answer.status_code >= 500 else []
        if writes:
            findings += [f"{name} made {crossing} point at the stranger" for crossing in cross_tenant_references()]
            findings += [f"{name} changed the stranger"] if snapshot_of(theirs.organization) != before else []
    return findings


def test_the_walk_sends_bodies_that_are_taken(ours: ApiClient):
    own = {
        path: {name: OWN[name] for name in body_schema(operation) if name in OWN}
        for path, method, operation in operations()
        if method == "post"
    }

    with rolled_back():
        codes = {path: ours.post(path, body).status_code for path, body in own.items()}

    # One after the other: the cancel has the booking's reference, the opt-in its lead.
    assert codes == {
        "/api/external/appointments": 201,
        "/api/external/appointments/cancel": 200,
        "/api/opt-in/submit": 200,
    }
