"""The interface's own description: /api/schema and /api/docs."""

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
from tests.factories import make_analysis, make_api, make_custom_field, make_note

OPERATIONS = {
    "/api/external/appointments": {"get", "post"},
    "/api/external/appointments/cancel": {"post"},
    "/api/external/appointments/{id}": {"get"},
    "/api/opt-in/submit": {"post"},
    "/api/external/opt-ins": {"get"},
    "/api/external/opt-ins/{id}": {"get"},
    "/api/external/statuses": {"get"},
    "/api/external/leads": {"get"},
    "/api/external/leads/{id}": {"get"},
    "/api/external/leads/{id}/status": {"patch"},
    "/api/external/events": {"get"},
}
FIRST = """
import django
django.setup()

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from tests.client import ApiClient

together = Barrier(8)

def ask(number):
    together.wait()
    return ApiClient(None).get("/api/schema", host="localhost").status_code

with ThreadPoolExecutor(8) as threads:
    print(*threads.map(ask, range(8)))
"""
UNKNOWN = "00000000-0000-7000-8000-000000000000"
PARAMETERS = {
    "/api/external/appointments": "page limit lead_id call_category outcome_role setter triager closer scheduled_from scheduled_to created_from created_to",
    "/api/external/opt-ins": "page limit source lead_id created_from created_to ordering",
    "/api/external/leads": "page limit email status_id status_role setter created_from created_to updated_from updated_to ordering",
    "/api/external/events": "after type limit",
}


@pytest.fixture(scope="module")
def schema():
    """The document, as anyone gets it."""
    answer = ApiClient(None).get("/api/schema", accept="application/json")
    assert answer.status_code == 200
    return json.loads(answer.content)


def operations(schema):
    methods = {"get", "post", "put", "patch", "delete"}
    return {
        path: set(item) & methods
        for path, item in schema["paths"].items()
        if path.startswith("/api/") and "schema" not in path and "docs" not in path
    }


def closed(node: Any) -> Any:
    """The schema, with no field allowed that it doesn't name."""
    if isinstance(node, list):
        return [closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    strict = {"additionalProperties": False} if "properties" in node and "additionalProperties" not in node else {}
    return {name: closed(each) for name, each in node.items()} | strict


def check(schema, path, method, answer, code=None):
    """The body is what the document says of this status code, which is `code` if that is given."""
    assert code in (None, answer.status_code), answer.content
    said = schema["paths"][path][method]["responses"]
    assert str(answer.status_code) in said, f"{answer.status_code} is not documented for {method} {path}"
    strict = closed(schema)
    body = strict["paths"][path][method]["responses"][str(answer.status_code)]["content"]["application/json"]["schema"]
    registry = Registry().with_resource("urn:api", Resource.from_contents(strict, default_specification=DRAFT202012))
    validator = OAS30Validator if schema["openapi"].startswith("3.0") else OAS31Validator
    rebased = json.loads(json.dumps(body).replace('"#/', '"urn:api#/'))
    errors = [
        f"{error.json_path}: {error.message}"
        for error in validator(rebased, registry=registry).iter_errors(answer.json())
    ]
    assert errors == []


def test_the_document_is_valid_openapi(schema):
    validate(schema)


def test_the_document_describes_every_endpoint_and_method(schema):
    assert operations(schema) == OPERATIONS


@pytest.mark.parametrize("path", PARAMETERS)
def test_the_document_describes_every_parameter(schema, path):
    said = {parameter["name"]: parameter["in"] for parameter in schema["paths"][path]["get"]["parameters"]}

    assert {name: said.get(name) for name in PARAMETERS[path].split()} == dict.fromkeys(
        PARAMETERS[path].split(), "query"
    )


def test_the_document_says_that_every_operation_needs_the_key(schema):
    schemes = schema["components"]["securitySchemes"]
    (name,) = [name for name, scheme in schemes.items() if scheme.get("name", "").lower() == "x-api-key"]
    used = [
        schema["paths"][path][method].get("security", schema.get("security"))
        for path, methods in OPERATIONS.items()
        for method in methods
    ]

    assert (schemes[name]["type"], schemes[name]["in"]) == ("apiKey", "header")
    assert used == [[{name: []}]] * len(used)


def test_the_document_names_the_required_fields(schema):
    def required(path):
        body = schema["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        return set(schema["components"]["schemas"][body["$ref"].rsplit("/", 1)[1]]["required"])

    assert required("/api/external/appointments") == {"external_reference", "schedule_time"}
    assert required("/api/external/appointments/cancel") == {"external_reference"}
    assert required("/api/opt-in/submit") == {"email", "first_name", "source"}


def test_the_first_who_ask_a_new_process_for_the_schema_all_get_it():
    told = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=False)

    assert told.stdout.split() == ["200"] * 8


def test_the_schema_never_needs_a_key_and_is_the_same_with_one(api):
    without, with_key = ApiClient(None).get("/api/schema"), api.get("/api/schema")

    assert (without.status_code, with_key.content) == (200, without.content)


@pytest.fixture
def full(api, organization, host):
    """The ids of a world in which no field is empty."""
    for entity, type in [("APPOINTMENT", "TEXT"), ("LEAD", "NUMBER")]:
        make_custom_field(organization, entity, "own", type=type)
    answers = [{"question": "Q", "answer": "A", "position": 1}]
    person = {"phone_e164": "+442079460000", "phone_country": "GB", "traffic": {"utm_content": host.user_id}}
    opt_in = api.submit(**person, questions_answers=answers).json()["data"]
    id = api.book(host_email="hana@acme.example", notes="Hi", meeting_url="https://meet.example/1").json()["data"]["id"]
    make_note(organization, id, "Ask", host)
    make_analysis(organization, id)
    return {"appointments": id, "opt-ins": opt_in["opt_in_id"], "leads": opt_in["lead_id"]}


@pytest.mark.parametrize("page", [1, 9])
@pytest.mark.parametrize("name", ["appointments", "opt-ins", "leads", "statuses"])
def test_the_answers_of_lists_are_as_documented(schema, api, full, name, page):
    check(schema, f"/api/external/{name}", "get", api.get(f"/api/external/{name}", {"page": page}), 200)


@pytest.mark.parametrize("name", ["appointments", "opt-ins", "leads", "events"])
def test_the_refusals_of_lists_are_as_documented(schema, api, name):
    check(schema, f"/api/external/{name}", "get", api.get(f"/api/external/{name}", {"limit": "0"}), 400)


@pytest.mark.parametrize("name", ["appointments", "opt-ins", "leads"])
def test_the_answers_of_details_are_as_documented(schema, api, full, name):
    check(schema, f"/api/external/{name}/{{id}}", "get", api.get(f"/api/external/{name}/{full[name]}"), 200)
    check(schema, f"/api/external/{name}/{{id}}", "get", api.get(f"/api/external/{name}/{UNKNOWN}"), 404)


@pytest.mark.django_db(transaction=True)
def test_the_events_are_as_documented(schema, api, full):
    api.cancel()

    answer = api.get("/api/external/events")

    assert len(answer.json()["data"]) == 6
    check(schema, "/api/external/events", "get", answer)


def test_the_answers_of_bookings_are_as_documented(schema, api):
    answers = [
        api.book(),
        api.book(),
        api.book(schedule_time="2028-01-01T00:00:00Z"),
        api.book(schedule_time="x"),
        ApiClient(None).book(),
    ]
    answers += [
        api.request("POST", "/api/external/appointments", b"{}", "text/plain"),
        api.request("POST", "/api/external/appointments", b" " * 2**21),
    ]

    assert [answer.status_code for answer in answers] == [201, 200, 409, 400, 401, 415, 413]
    for answer in answers:
        check(schema, "/api/external/appointments", "post", answer)


def test_the_answers_of_cancels_and_submits_are_as_documented(schema, api):
    api.book()
    for answer, code in [
        (api.cancel(), 200),
        (api.cancel(external_reference="x"), 404),
        (api.cancel(external_reference=5), 400),
    ]:
        check(schema, "/api/external/appointments/cancel", "post", answer, code)
    for answer, code in [
        (api.submit(email="new@example.com"), 201),
        (api.submit(), 200),
        (api.submit(source="X"), 400),
    ]:
        check(schema, "/api/opt-in/submit", "post", answer, code)


def test_the_answers_of_a_status_update_are_as_documented(schema, api, organization):
    lead, won = api.submit().json()["data"]["lead_id"], api.get_status("WON")["id"]
    calls = [
        (api, lead, won),
        (api, lead, "x"),
        (api, UNKNOWN, won),
        (make_api(organization, scopes=["read"]), lead, won),
    ]

    answers = [client.patch(f"/api/external/leads/{id}/status", {"status_id": status}) for client, id, status in calls]

    assert [answer.status_code for answer in answers] == [200, 400, 404, 403]
    for answer in answers:
        check(schema, "/api/external/leads/{id}/status", "patch", answer)


def test_a_429_is_documented_and_as_documented(schema, api, settings):
    settings.RATE_LIMIT_PER_MINUTE = 1
    api.get("/api/external/statuses")

    check(schema, "/api/external/statuses", "get", api.get("/api/external/statuses"), 429)


def test_the_docs_load_nothing_from_another_host():
    answer = ApiClient(None).get("/api/docs")

    page = answer.content.decode()
    loaded = re.findall(r"""(?:src|href|action)\s*=\s*["']?([^"'\s>]+)""", page)
    assert (answer.status_code, answer.headers["Content-Type"].split(";")[0]) == (200, "text/html")
    assert any(address.endswith(".js") for address in loaded)
    assert [address for address in loaded if re.match(r"(?i)([a-z]+:)?//", address)] == []
    assert re.findall(r"""["'](?:https?:)?//[a-z]""", page) == []
