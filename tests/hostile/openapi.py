"""The API as its OpenAPI document describes it, so that a new field or parameter is covered without a new test."""

import copy
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from pipeline_backend.web.openapi_views import rendered_schema
from tests.client import booking_payload, opt_in_payload, sync_payload, synced_opt_in_payload

DOCUMENT = json.loads(rendered_schema())
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
CREATE, CANCEL = "POST /api/external/appointments", "POST /api/external/appointments/cancel"
UPDATE_APPOINTMENT, UPDATE_LEAD = "PATCH /api/external/appointments/{id}", "PATCH /api/external/leads/{id}"
CREATE_ENDPOINT = "POST /api/external/webhook-endpoints"
UPDATE_ENDPOINT = "PATCH /api/external/webhook-endpoints/{id}"
REPLAY = "POST /api/external/webhook-endpoints/{id}/replay"
ENDPOINT = {"url": "https://hooks.example.com/zap", "topics": ["lead.created", "lead.updated"]}
PUT_ANALYSIS = "PUT /api/external/call-analyses/{call_analysis_call_id}"
ADD_NOTE, ADD_LEAD_NOTE = (f"POST /api/external/{kind}/{{id}}/notes" for kind in ("appointments", "leads"))
CHANGE_NOTE, CHANGE_LEAD_NOTE = (
    f"PATCH /api/external/{kind}/{{id}}/notes/{{note_id}}" for kind in ("appointments", "leads")
)
SYNC = "PUT /api/external/sync/{source}/appointments/{external_reference}"
SYNC_OPT_IN = "PUT /api/external/sync/{source}/opt-ins/{reference}"
UPSERT_LEAD = "POST /api/external/leads"
IMPORT_LEADS, IMPORT_APPOINTMENTS = (f"POST /api/external/{kind}/import" for kind in ("leads", "appointments"))
RESCHEDULE = "POST /api/external/appointments/reschedule"
SUBMIT, SET_LEAD_STATUS = "POST /api/opt-in/submit", "PATCH /api/external/leads/{id}/status"
QUESTION_ANSWERS = [
    {"question": "Why?", "answer": "So.", "position": 1},
    {"question": "Really?", "answer": "Yes.", "position": 2},
]
VALID_BODIES: dict[str, dict[str, Any]] = {
    CREATE: booking_payload(traffic={"utm_source": "letter"}, custom_fields={}),
    RESCHEDULE: {"external_reference": "ref-0", "schedule_time": "2027-01-06T11:00:00Z"},
    CANCEL: {"external_reference": "ref-0"},
    SUBMIT: opt_in_payload(questions_answers=QUESTION_ANSWERS, traffic={"utm_source": "letter"}),
    UPDATE_APPOINTMENT: {"meeting_url": "https://meet.example/1", "custom_fields": {}},
    # Number and country are sent together.
    UPDATE_LEAD: {"first_name": "Ada", "phone_e164": None, "phone_country": None},
    # The phone's country can be sent alone.
    UPSERT_LEAD: {"email": "ada@example.com", "overwrite": ["first_name", "last_name"], "custom_fields": {}},
    IMPORT_LEADS: {"rows": [{"email": "ada@example.com"}] * 2},
    IMPORT_APPOINTMENTS: {"rows": [booking_payload()] * 2, "notify": False},
    PUT_ANALYSIS: {
        "ai_generated_title": "A good call",
        "ai_rationale": "They asked for the contract.",
        "ai_suggested_outcome": "Won",
        "ai_confidence_score": 0.5,
        "external_reference": "ref-0",
        "match": {"host_email": "hana@acme.example", "started_at": "2027-01-05T10:00:00Z"},
    },
    SYNC: sync_payload(
        lead={"email": "ada@example.com", "first_name": "Ada", "last_name": "Byron", "phone": "+442079460000"},
        questions_answers=QUESTION_ANSWERS,
        traffic={"utm_source": "letter"},
    ),
    SYNC_OPT_IN: synced_opt_in_payload(questions_answers=QUESTION_ANSWERS, traffic={"utm_source": "letter"}),
    ADD_NOTE: {"note": "Prefers mornings", "mention_emails": ["hana@acme.example"] * 2},
    ADD_LEAD_NOTE: {"note": "Prefers mornings"},
    CHANGE_NOTE: {"note": "Prefers mornings", "mention_emails": ["hana@acme.example"] * 2},
    CHANGE_LEAD_NOTE: {"note": "Prefers mornings"},
    SET_LEAD_STATUS: {"status_id": UNKNOWN_ID},
    CREATE_ENDPOINT: ENDPOINT,
    UPDATE_ENDPOINT: {"description": "Zap", **ENDPOINT},
    REPLAY: {"since": "2027-01-05T10:00:00Z", "topics": ENDPOINT["topics"]},
}
PLACEHOLDER = "@placeholder@"

Schema = dict[str, Any]


class BodyField(NamedTuple):
    """A field of a request body: its operation, its dotted path and its schema."""

    operation: str
    path: str
    schema: Schema

    def __str__(self) -> str:
        return f"{self.operation.rsplit('/', 1)[1]}:{self.path}"

    @property
    def type(self) -> str:
        """Return string, integer, array or object."""
        types = self.schema["type"]
        # A nullable field has a list of types, with "null" last.
        return types if isinstance(types, str) else str(types[0])

    @property
    def accepts_anything(self) -> bool:
        """Return whether values of all types are accepted: the field must not be a reason to refuse a submission."""
        is_side_fact = self.path.startswith("traffic") or self.path.endswith("answer")
        return self.operation in (SUBMIT, CREATE, SYNC, SYNC_OPT_IN) and is_side_fact

    @property
    def format(self) -> str:
        """Return email, uri, uuid, date-time, enum, or an empty string for plain text and other types."""
        return "enum" if "enum" in self.schema else str(self.schema.get("format", ""))


class QueryParameter(NamedTuple):
    """A query parameter of a list: the list's path, its name and its schema."""

    path: str
    name: str
    schema: Schema

    def __str__(self) -> str:
        return f"{self.path.rsplit('/', 1)[1]}?{self.name}"


def resolve(schema: Schema) -> Schema:
    """Return the schema that a reference points at, or the schema itself if it is not a reference."""
    (schema,) = schema.get("allOf", [schema])  # a reference with a description
    return DOCUMENT["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema


def operations() -> dict[str, Schema]:
    """Return the description of each operation, by "METHOD /path"."""
    return {
        f"{method.upper()} {path}": operation
        for path, item in DOCUMENT["paths"].items()
        for method, operation in item.items()
    }


def body_schemas() -> dict[str, Schema]:
    """Return the schema of the body of each operation that has one."""
    return {
        name: resolve(operation["requestBody"]["content"]["application/json"]["schema"])
        for name, operation in operations().items()
        if "requestBody" in operation
    }


def nested_fields(operation: str, schema: Schema, prefix: str = "") -> Iterator[BodyField]:
    """Yield every field of an object and, recursively, of the objects in it."""
    for name, reference in schema["properties"].items():
        field_schema = resolve(reference)
        yield BodyField(operation, f"{prefix}{name}", field_schema)
        if "properties" in field_schema:
            yield from nested_fields(operation, field_schema, f"{prefix}{name}.")
        # A row's fields are those of the request for one, and have errors of their own.
        if "items" in field_schema and name != "rows":
            # The second element as an example, because an error must name the right position and not just the first.
            item = resolve(field_schema["items"])
            if "properties" in item:
                yield from nested_fields(operation, item, f"{prefix}{name}.1.")
            else:
                yield BodyField(operation, f"{prefix}{name}.1", item)


def body_fields() -> list[BodyField]:
    """Return every field of every body."""
    return [field for operation, schema in body_schemas().items() for field in nested_fields(operation, schema)]


def query_parameters() -> list[QueryParameter]:
    """Return every query parameter of every list without an id in its path; the others have no filters."""
    return [
        QueryParameter(name.split(" ")[1], parameter["name"], parameter["schema"])
        for name, operation in operations().items()
        for parameter in operation.get("parameters", [])
        if parameter["in"] == "query" and "{" not in name
    ]


def body_with(operation: str, path: str, value: str) -> str:
    """Return the operation's valid body as JSON, with this JSON text as the value of one field."""
    body = copy.deepcopy(VALID_BODIES[operation])
    node: Any = body
    *parents, last = path.split(".")
    for key in parents:
        node = node[int(key)] if isinstance(node, list) else node[key]
    node[int(last) if isinstance(node, list) else last] = PLACEHOLDER
    # The value is replaced in the text, because many values that tests need are not valid JSON.
    return json.dumps(body).replace(f'"{PLACEHOLDER}"', value)
