"""The OpenAPI document and its pages: /api/schema and /api/docs (docs/interface.md, G39)."""

import json
import re
import subprocess
import sys
from typing import Any

import pytest
from openapi_schema_validator import OAS30Validator, OAS31Validator
from openapi_spec_validator import validate
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from tests.client import ApiClient
from tests.factories import make_analysis, make_api, make_custom_field, make_note, set_columns
from webhooks.models import Event

OPERATIONS = {
    "/api/external/appointments": {"get", "post"},
    "/api/external/appointments/reschedule": {"post"},
    "/api/external/appointments/cancel": {"post"},
    "/api/external/appointments/import": {"post"},
    "/api/external/appointments/{id}": {"get", "patch"},
    "/api/opt-in/submit": {"post"},
    "/api/external/opt-ins": {"get"},
    "/api/external/opt-ins/{id}": {"get"},
    "/api/external/statuses": {"get"},
    "/api/external/leads": {"get", "post"},
    "/api/external/leads/import": {"post"},
    "/api/external/leads/{id}": {"get", "patch"},
    "/api/external/leads/{id}/erase": {"post"},
    "/api/external/leads/{id}/status": {"patch"},
    "/api/external/call-analyses/{call_analysis_call_id}": {"put"},
    "/api/external/appointments/{id}/notes": {"get", "post"},
    "/api/external/appointments/{id}/notes/{note_id}": {"patch", "delete"},
    "/api/external/appointments/{id}/outcome-changes": {"get"},
    "/api/external/leads/{id}/status-changes": {"get"},
    "/api/external/leads/{id}/notes": {"get", "post"},
    "/api/external/leads/{id}/notes/{note_id}": {"patch", "delete"},
    "/api/external/events": {"get"},
    "/api/external/webhook-endpoints": {"get", "post"},
    "/api/external/webhook-endpoints/{id}": {"get", "patch", "delete"},
    "/api/external/webhook-endpoints/{id}/deliveries": {"get"},
    "/api/external/webhook-endpoints/{id}/replay": {"post"},
    "/api/external/webhook-endpoints/{id}/rotate-secret": {"post"},
    "/api/external/webhook-endpoints/{id}/test": {"post"},
    "/api/external/webhook-topics": {"get"},
    "/api/external/webhook-topics/{topic}/samples": {"get"},
    "/api/external/test/reset": {"post"},
    "/api/external/me": {"get"},
    "/api/external/members": {"get"},
    "/api/external/event-types": {"get"},
    "/api/external/sync/{source}/appointments/{external_reference}": {"put"},
    "/api/external/sync/{source}/opt-ins/{reference}": {"put"},
    "/api/external/sources": {"get"},
    "/api/external/custom-fields": {"get"},
}
# Runs in a process of its own, because the document is rendered once per process.
FIRST_REQUESTS = """
import django
django.setup()

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from tests.client import ApiClient

barrier = Barrier(8)

def get_schema(number):
    barrier.wait()
    return ApiClient(None).get("/api/schema", host="localhost").status_code

with ThreadPoolExecutor(8) as threads:
    print(*threads.map(get_schema, range(8)))
"""
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
LOOK_UPS = ["members", "event-types", "sources", "custom-fields"]
QUERY_PARAMETERS = {
    "/api/external/appointments": (
        "page limit id external_reference lead_id event_type_id call_category outcome_role has_outcome "
        "setter triager closer scheduled_from scheduled_to created_from created_to"
    ),
    "/api/external/opt-ins": "page limit id external_reference source lead_id created_from created_to ordering",
    "/api/external/leads": (
        "page limit id external_reference email phone status_id status_role setter "
        "created_from created_to updated_from updated_to ordering"
    ),
    "/api/external/events": "after type limit created_from created_to lead_id appointment_id",
    "/api/external/members": "page limit",
    "/api/external/event-types": "page limit",
    "/api/external/sources": "page limit",
    "/api/external/custom-fields": "page limit",
}


@pytest.fixture(scope="module")
def schema():
    """The OpenAPI document, as served without a key."""
    response = ApiClient(None).get("/api/schema", accept="application/json")
    assert response.status_code == 200
    return json.loads(response.content)


def documented_operations(schema):
    """Return the methods of each path of the API, without the document's own endpoints."""
    methods = {"get", "post", "put", "patch", "delete"}
    return {
        path: set(item) & methods
        for path, item in schema["paths"].items()
        if path.startswith("/api/") and "schema" not in path and "docs" not in path
    }


def without_additional_properties(node: Any) -> Any:
    """Return the schema, changed so that an object with an undocumented field is invalid."""
    if isinstance(node, list):
        return [without_additional_properties(item) for item in node]
    if not isinstance(node, dict):
        return node
    strict = {"additionalProperties": False} if "properties" in node and "additionalProperties" not in node else {}
    return {name: without_additional_properties(item) for name, item in node.items()} | strict


def assert_documented(schema, path, method, response, status_code=None):
    """Assert that the body is valid for its status code, which must be `status_code` if that is not None."""
    assert status_code in (None, response.status_code), response.content
    documented = schema["paths"][path][method]["responses"]
    assert str(response.status_code) in documented, f"{response.status_code} is not documented for {method} {path}"
    strict = without_additional_properties(schema)
    response_schema = strict["paths"][path][method]["responses"][str(response.status_code)]
    body_schema = response_schema["content"]["application/json"]["schema"]
    # References within the body's schema start at the document's root, so they are resolved by a registry.
    registry = Registry().with_resource("urn:api", Resource.from_contents(strict, default_specification=DRAFT202012))
    validator = OAS30Validator if schema["openapi"].startswith("3.0") else OAS31Validator
    rebased = json.loads(json.dumps(body_schema).replace('"#/', '"urn:api#/'))
    errors = [
        f"{error.json_path}: {error.message}"
        for error in validator(rebased, registry=registry).iter_errors(response.json())
    ]
    assert errors == []


def test_the_document_is_valid_openapi(schema):
    validate(schema)


def test_the_document_describes_every_endpoint_and_method(schema):
    assert documented_operations(schema) == OPERATIONS


@pytest.mark.parametrize("path", QUERY_PARAMETERS)
def test_the_document_describes_every_parameter(schema, path):
    names = QUERY_PARAMETERS[path].split()

    documented = {parameter["name"]: parameter["in"] for parameter in schema["paths"][path]["get"]["parameters"]}

    assert {name: documented.get(name) for name in names} == dict.fromkeys(names, "query")


def test_the_document_requires_the_key_for_every_operation(schema):
    schemes = schema["components"]["securitySchemes"]
    (name,) = [name for name, scheme in schemes.items() if scheme.get("name", "").lower() == "x-api-key"]
    requirements = [
        schema["paths"][path][method].get("security", schema.get("security"))
        for path, methods in OPERATIONS.items()
        for method in methods
    ]

    assert (schemes[name]["type"], schemes[name]["in"]) == ("apiKey", "header")
    assert requirements == [[{name: []}]] * len(requirements)


def test_the_document_names_the_required_fields(schema):
    def required(path):
        body = schema["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        return set(schema["components"]["schemas"][body["$ref"].rsplit("/", 1)[1]]["required"])

    assert required("/api/external/appointments") == {"external_reference", "schedule_time"}
    assert required("/api/external/appointments/reschedule") == {"external_reference", "schedule_time"}
    assert required("/api/external/appointments/cancel") == {"external_reference"}
    assert required("/api/opt-in/submit") == {"email", "first_name", "source"}


def test_concurrent_first_requests_to_a_new_process_all_get_the_schema():
    process = subprocess.run([sys.executable, "-c", FIRST_REQUESTS], capture_output=True, text=True, check=False)

    assert process.stdout.split() == ["200"] * 8


def test_the_schema_needs_no_key_and_is_the_same_with_one(api):
    """docs/interface.md, G39"""
    without_key, with_key = ApiClient(None).get("/api/schema"), api.get("/api/schema")

    assert (without_key.status_code, with_key.content) == (200, without_key.content)


@pytest.fixture
def object_ids(api, organization, host):
    """Create one object of each kind with all fields set, and return their ids by the endpoint's name."""
    for entity, type in [("APPOINTMENT", "TEXT"), ("LEAD", "NUMBER")]:
        make_custom_field(organization, entity, "own", type=type)
    question_answers = [{"question": "Q", "answer": "A", "position": 1}]
    contact = {"phone_e164": "+442079460000", "phone_country": "GB", "traffic": {"utm_content": host.user_id}}
    opt_in = api.submit(**contact, questions_answers=question_answers).json()["data"]
    id = api.book(host_email="hana@acme.example", notes="Hi", meeting_url="https://meet.example/1").json()["data"]["id"]
    make_note(organization, id, "Ask", host)
    make_analysis(organization, id)
    return {"appointments": id, "opt-ins": opt_in["opt_in_id"], "leads": opt_in["lead_id"]}


# The first page, and one past the end.
@pytest.mark.parametrize("page", [1, 9])
@pytest.mark.parametrize("name", ["appointments", "opt-ins", "leads", "statuses", *LOOK_UPS])
def test_list_responses_match_the_document(schema, api, object_ids, name, page):
    assert_documented(schema, f"/api/external/{name}", "get", api.get(f"/api/external/{name}", {"page": page}), 200)


@pytest.mark.parametrize("name", ["appointments", "opt-ins", "leads", "events", *LOOK_UPS])
def test_error_responses_of_lists_match_the_document(schema, api, name):
    assert_documented(schema, f"/api/external/{name}", "get", api.get(f"/api/external/{name}", {"limit": "0"}), 400)


@pytest.mark.parametrize("name", ["appointments", "opt-ins", "leads"])
def test_detail_responses_match_the_document(schema, api, object_ids, name):
    assert_documented(
        schema, f"/api/external/{name}/{{id}}", "get", api.get(f"/api/external/{name}/{object_ids[name]}"), 200
    )
    assert_documented(schema, f"/api/external/{name}/{{id}}", "get", api.get(f"/api/external/{name}/{UNKNOWN_ID}"), 404)


@pytest.mark.django_db(transaction=True)
def test_event_responses_match_the_document(schema, api, object_ids):
    api.cancel()

    response = api.get("/api/external/events")

    assert len(response.json()["data"]) == 7
    assert_documented(schema, "/api/external/events", "get", response)


@pytest.mark.django_db(transaction=True)
def test_events_without_an_actor_as_version_0_2_recorded_them_match_the_document(schema, api, organization):
    api.submit()
    for event in Event.objects.of(organization):
        body = json.loads(event.body)
        del body["actor"], body["request_id"]
        set_columns(Event, organization, event.pk, body=json.dumps(body))

    response = api.get("/api/external/events")

    assert [event.keys() & {"actor", "request_id"} for event in response.json()["data"]] == [set(), set()]
    assert_documented(schema, "/api/external/events", "get", response)


def test_responses_to_bookings_match_the_document(schema, api):
    responses = [
        api.book(),
        api.book(),
        api.book(schedule_time="2028-01-01T00:00:00Z"),
        api.book(schedule_time="x"),
        ApiClient(None).book(),
        api.request("POST", "/api/external/appointments", b"{}", "text/plain"),
        api.request("POST", "/api/external/appointments", b" " * 2**21),
    ]

    assert [response.status_code for response in responses] == [201, 200, 409, 400, 401, 415, 413]
    for response in responses:
        assert_documented(schema, "/api/external/appointments", "post", response)


def test_responses_to_cancellations_and_submissions_match_the_document(schema, api):
    api.book()
    for response, status_code in [
        (api.cancel(), 200),
        (api.cancel(external_reference="x"), 404),
        (api.cancel(external_reference=5), 400),
    ]:
        assert_documented(schema, "/api/external/appointments/cancel", "post", response, status_code)
    for response, status_code in [
        (api.submit(email="new@example.com"), 201),
        (api.submit(), 200),
        (api.submit(source="X"), 400),
    ]:
        assert_documented(schema, "/api/opt-in/submit", "post", response, status_code)


def test_responses_to_status_updates_match_the_document(schema, api, organization):
    lead, won = api.submit().json()["data"]["lead_id"], api.get_status("WON")["id"]
    requests = [
        (api, lead, won),
        (api, lead, "x"),
        (api, UNKNOWN_ID, won),
        (make_api(organization, scopes=["read"]), lead, won),
    ]

    responses = [
        client.patch(f"/api/external/leads/{id}/status", {"status_id": status}) for client, id, status in requests
    ]

    assert [response.status_code for response in responses] == [200, 400, 404, 403]
    for response in responses:
        assert_documented(schema, "/api/external/leads/{id}/status", "patch", response)


def test_a_429_response_matches_the_document(schema, api, settings, stopped_clock):
    settings.RATE_LIMIT_PER_MINUTE = 1
    api.get("/api/external/statuses")

    assert_documented(schema, "/api/external/statuses", "get", api.get("/api/external/statuses"), 429)


def test_the_docs_page_loads_nothing_from_another_host():
    response = ApiClient(None).get("/api/docs")

    page = response.content.decode()
    urls = re.findall(r"""(?:src|href|action)\s*=\s*["']?([^"'\s>]+)""", page)
    assert (response.status_code, response.headers["Content-Type"].split(";")[0]) == (200, "text/html")
    assert any(url.endswith(".js") for url in urls)
    assert [url for url in urls if re.match(r"(?i)([a-z]+:)?//", url)] == []
    assert re.findall(r"""["'](?:https?:)?//[a-z]""", page) == []
