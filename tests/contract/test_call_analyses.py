"""PUT /api/external/call-analyses/{call_analysis_call_id} (docs/interface.md, A43 to A46)."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType

from appointments.models import CallAnalysis
from organizations.models import Membership
from tests.client import SCHEDULE_TIME, ApiClient
from tests.contract.assertions import assert_error, assert_invalid_fields
from tests.contract.concurrency import run_concurrently, status_codes
from tests.factories import make_api, make_member, make_provider_appointment, owner_of, snapshot_of

ANALYSIS = {
    "ai_generated_title": "A good call",
    "ai_rationale": "They asked for the contract.",
    "ai_suggested_outcome": "Won",
    "ai_confidence_score": 0.5,
}
NO_MATCH = "No appointment of the host within an hour of started_at matches"
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def id(api: ApiClient, host: Membership) -> str:
    return str(api.book(host_email=host.user.email).json()["data"]["id"])


def put(api: ApiClient, /, *, call: str = "call-1", **fields: Any) -> Any:
    return api.put(f"/api/external/call-analyses/{call}", {**ANALYSIS, **fields})


def match(api: ApiClient, /, started_at: str = SCHEDULE_TIME, **fields: Any) -> Any:
    return put(api, match={"host_email": "HANA@acme.example", "started_at": started_at, **fields})


@pytest.mark.django_db(transaction=True)
def test_an_analysis_is_stored_and_replaced_with_an_event_each(api, id):
    """A43, A44"""
    seen = len(api.list_events())

    created = put(api, appointment_id=id)
    changed = put(api, appointment_id=id, ai_confidence_score=1)
    repeated = put(api, external_reference="ref-1", ai_confidence_score=1)

    analysis = api.get_appointment(id)["call_analysis"]
    assert [response.status_code for response in (created, changed, repeated)] == [201, 200, 200]
    assert created.json()["message"] == "Call analysis created"
    assert changed.json() == {"status": "success", "message": "Call analysis updated", "data": analysis}
    assert repeated.json()["data"] == analysis
    assert analysis == created.json()["data"] | {"ai_confidence_score": 1}
    assert created.json()["data"] == ANALYSIS | {
        name: analysis[name] for name in ("id", "call_analysis_call_id", "appointment_id", "created_at")
    }
    assert (analysis["call_analysis_call_id"], analysis["appointment_id"]) == ("call-1", id)
    events = api.list_events()[seen:]
    assert [(event["type"], event["previous"]) for event in events] == [
        ("appointment.updated", {"call_analysis": None}),
        ("appointment.updated", {"call_analysis": created.json()["data"]}),
    ]


@pytest.mark.django_db(transaction=True)
def test_a_call_moves_to_the_appointment_that_is_named(api, id):
    """A44"""
    other = api.book(external_reference="ref-2").json()["data"]["id"]
    first = put(api, appointment_id=id).json()["data"]
    seen = len(api.list_events())

    moved = put(api, external_reference="ref-2")

    assert (moved.status_code, moved.json()["data"]) == (200, first | {"appointment_id": other})
    assert api.get_appointment(id)["call_analysis"] is None
    assert api.get_appointment(other)["call_analysis"] == moved.json()["data"]
    assert [event["data"]["id"] for event in api.list_events()[seen:]] == [id, other]


def test_the_history_of_a_call_that_moves_to_another_lead_does_not_keep_its_title(api, organization, id):
    """Erasing a lead looks for entries about rows that are the lead's."""
    other = api.book(external_reference="ref-2", lead_email="bob@example.com").json()["data"]["id"]
    first = put(api, appointment_id=id).json()["data"]
    entry = {"user": owner_of(organization).user, "content_type": ContentType.objects.get_for_model(CallAnalysis)}
    LogEntry.objects.create(**entry, object_id=first["id"], object_repr="Call with Ada", action_flag=1)

    assert put(api, appointment_id=other).status_code == 200

    assert not LogEntry.objects.exists()


def test_a_call_that_staff_entered_at_two_appointments_is_replaced_where_it_is_named(api, organization, id):
    """A44: staff may enter a call's id anywhere."""
    other = api.book(external_reference="ref-2").json()["data"]["id"]
    first = put(api, appointment_id=id).json()["data"]
    copy = CallAnalysis.objects.of(organization).get(pk=first["id"])
    copy.pk, copy.appointment_id = uuid4(), other
    copy.save(force_insert=True)

    replaced = put(api, appointment_id=other, ai_generated_title="Second call")

    assert (replaced.status_code, replaced.json()["data"]["ai_generated_title"]) == (200, "Second call")
    assert replaced.json()["data"]["appointment_id"] == other
    assert api.get_appointment(id)["call_analysis"] == first


def test_the_nearest_appointment_of_the_host_is_found(api, organization, host: Membership, id):
    """A45"""
    make_member(organization, "olga@acme.example")
    later = {"schedule_time": "2027-01-05T10:40:00Z", "host_email": host.user.email}
    other = api.book(external_reference="ref-2", **later).json()["data"]["id"]
    canceled = {"schedule_time": "2027-01-05T10:10:00Z", "host_email": host.user.email}
    api.book(external_reference="ref-3", **canceled)
    api.cancel(external_reference="ref-3")
    api.book(external_reference="ref-4", schedule_time="2027-01-05T10:08:00Z", host_email="olga@acme.example")

    assert match(api, "2027-01-05T10:09:00Z").json()["data"]["appointment_id"] == id
    assert match(api, "2027-01-05T10:39:00Z").status_code == 200, "a known call stays at its appointment"
    assert api.get_appointment(other)["call_analysis"] is None


def test_what_is_given_of_lead_and_url_must_be_equal(api, host: Membership, id):
    """A45"""
    fields = {"host_email": host.user.email, "meeting_url": "https://meet.example/2"}
    other = api.book(external_reference="ref-2", lead_email="grace@example.com", **fields).json()["data"]["id"]

    assert_error(match(api, lead_email="nobody@example.com"), 404, NO_MATCH)
    assert_error(match(api, lead_email="ada@example.com", meeting_url="https://meet.example/2"), 404, NO_MATCH)
    assert match(api, lead_email="GRACE@example.com").json()["data"]["appointment_id"] == other
    assert match(api, meeting_url="https://meet.example/2").status_code == 200


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("started_at", "2027-01-05T11:00:00.001Z"),
        ("started_at", "2027-01-05T08:59:59.999Z"),
        ("host_email", "nobody@acme.example"),
    ],
)
def test_without_a_match_it_is_404(api, organization, id, field, value):
    """A45"""
    before = snapshot_of(organization)

    response = match(api, **{field: value})

    assert_error(response, 404, NO_MATCH)
    assert snapshot_of(organization) == before


def test_several_matches_are_409_with_their_ids(api, organization, host: Membership, id):
    """A45"""
    later = {"schedule_time": "2027-01-05T10:20:00Z", "host_email": host.user.email}
    other = api.book(external_reference="ref-2", **later).json()["data"]["id"]
    make_provider_appointment(organization, external_reference="ref-1")
    before = snapshot_of(organization)

    response = match(api, "2027-01-05T10:10:00Z")

    ids = ", ".join(sorted([id, other]))
    assert_error(response, 409, f"Several appointments match equally well: {ids}; send appointment_id")
    assert put(api, external_reference="ref-1").status_code == 409
    assert snapshot_of(organization) == before


def test_another_calls_analysis_is_not_replaced(api, organization, id):
    """A46"""
    put(api, appointment_id=id)
    before = snapshot_of(organization)

    response = put(api, call="call-2", appointment_id=id)

    assert_error(response, 409, "The appointment has the analysis of another call: call-1")
    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    ("fields", "name", "message"),
    [
        ({}, "appointment_id", "appointment_id is required unless external_reference or match is given"),
        ({"match": {"host_email": "a@b.cd"}}, "match.started_at", "match.started_at is required"),
        (
            {"appointment_id": UNKNOWN_ID},
            "appointment_id",
            "appointment_id is not known in the organization",
        ),
        (
            {"external_reference": "ref-1", "ai_confidence_score": 1.01},
            "ai_confidence_score",
            "ai_confidence_score must be a number from 0 to 1",
        ),
        (
            {"call": "a" * 256, "external_reference": "ref-1"},
            "call_analysis_call_id",
            "call_analysis_call_id must be 1 to 255 printable characters",
        ),
        (
            {"call": "%00", "external_reference": "ref-1"},
            "call_analysis_call_id",
            "call_analysis_call_id must be 1 to 255 printable characters",
        ),
    ],
)
def test_an_invalid_field_is_400_and_changes_nothing(api, organization, id, fields, name, message):
    """A43"""
    before = snapshot_of(organization)

    response = put(api, **fields)

    assert_invalid_fields(response, name)
    assert response.json()["message"] == message
    assert snapshot_of(organization) == before


def test_a_slash_in_the_path_is_an_unknown_path(api, id):
    """A43"""
    assert_error(put(api, call="a%2Fb", appointment_id=id), 404, "Resource not found")


def test_nothing_of_another_organization_is_found(other_api, other_organization, id):
    """G22"""
    assert_invalid_fields(put(other_api, appointment_id=id), "appointment_id")
    assert_error(put(other_api, external_reference="ref-1"), 404, "No appointment found for external_reference ref-1")
    assert_error(match(other_api), 404, NO_MATCH)


def test_a_key_without_the_scope_write_is_403(organization, id):
    """K9"""
    reader = make_api(organization, scopes=["read"])

    assert_error(put(reader, appointment_id=id), 403, "This API key lacks the scope write")


@pytest.mark.django_db(transaction=True)
def test_simultaneous_requests_about_one_call_store_one_analysis(api, id):
    """A44"""
    api.book(external_reference="ref-2")
    references = ["ref-1", "ref-2"] * 3

    responses = run_concurrently(
        api.key, *(lambda api, name=name: put(api, external_reference=name) for name in references)
    )

    assert status_codes(responses) == {201: 1, 200: 5}
    listed = api.get_data("/api/external/appointments")
    assert len([row for row in listed if row["call_analysis"]]) == 1
