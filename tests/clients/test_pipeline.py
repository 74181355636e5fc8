"""The written part of the Python client, against the live service."""

from datetime import UTC, datetime
from itertools import islice
from typing import Any
from uuid import UUID

import pytest
from pipeline_client import Pipeline, PipelineError
from pipeline_client.generated.api.look_ups import list_members

from tests.client import ApiClient

pytestmark = pytest.mark.django_db(transaction=True)
MONDAY = datetime(2027, 3, 1, 15, tzinfo=UTC)
TUESDAY = datetime(2027, 3, 2, 15, tzinfo=UTC)


def book(pipeline: Pipeline, reference: str = "ref-1", **fields: Any) -> Any:
    fields = {"lead_email": "ada@example.com", "event_type_name": "Strategy call", **fields}
    return pipeline.book(reference, MONDAY, **fields)


def test_a_booking_is_made_moved_noted_canceled_and_gets_its_outcome(pipeline: Pipeline) -> None:
    booked, again = book(pipeline), book(pipeline)
    moved = pipeline.reschedule("ref-1", "2027-03-02T15:00:00Z", rescheduled_by="LEAD")
    note = pipeline.add_note_to_appointment(booked.id, "Is traveling", external_reference="note-1")
    canceled = pipeline.cancel("ref-1", reason="No time")
    outcome = pipeline.set_outcome(str(booked.id), "NO_SHOW").outcome

    assert (booked.is_duplicate, again.is_duplicate, again.id) == (False, True, booked.id)
    assert [moved.id, canceled.id, note.appointment_id] == [booked.id] * 3
    assert (note.note, note.external_reference) == ("Is traveling", "note-1")
    assert outcome.role == "NO_SHOW"
    assert pipeline.get_appointment(booked.id).schedule_time == TUESDAY


def test_a_lead_is_made_by_an_opt_in_completed_and_noted(pipeline: Pipeline) -> None:
    submitted = pipeline.submit_opt_in("ada@example.com", "Ada", "LANDING_PAGE", external_reference="form-1")
    upserted = pipeline.upsert_lead("ada@example.com", last_name="Byron")
    note = pipeline.add_note_to_lead(upserted.id, "Called back")

    assert (upserted.id, upserted.is_new, upserted.changed) == (submitted.lead_id, False, ["last_name"])
    assert (note.lead_id, note.note) == (upserted.id, "Called back")
    assert pipeline.get_lead(str(upserted.id)).last_name == "Byron"
    assert [opt_in.id for opt_in in pipeline.list_opt_ins(external_reference="form-1")] == [submitted.opt_in_id]


def test_lists_are_read_to_the_end_and_filtered_by_times(pipeline: Pipeline) -> None:
    ids = [book(pipeline, f"ref-{number}", lead_email=f"lead{number}@example.com").id for number in range(3)]

    assert [row.id for row in pipeline.list_appointments(limit=1)] == ids[::-1]
    assert [row.id for row in pipeline.list_appointments(id=ids[:2], ordering="-created_at")] == ids[1::-1]
    assert [row.id for row in pipeline.list_appointments(scheduled_from=TUESDAY)] == []
    assert [lead.email for lead in islice(pipeline.list_leads(limit=1), 2)] == [
        "lead2@example.com",
        "lead1@example.com",
    ]


def test_events_are_read_after_an_id_until_now(pipeline: Pipeline) -> None:
    book(pipeline)
    first, *others = pipeline.list_events(limit=1)

    assert first.type_ == "lead.created"
    assert list(pipeline.list_events(after=first.id)) == others
    assert [event.type_ for event in pipeline.list_events(type=["appointment.created"])] == ["appointment.created"]
    assert list(pipeline.list_events(after=pipeline.me().last_event_id)) == []


def test_a_refusal_is_an_error_with_the_services_words(pipeline: Pipeline, api: ApiClient) -> None:
    book(pipeline)

    with pytest.raises(PipelineError) as conflict:
        pipeline.book("ref-1", TUESDAY, lead_email="ada@example.com", event_type_name="Strategy call")
    with pytest.raises(PipelineError) as bad:
        book(pipeline, "ref-2", lead_email="nobody")
    with pytest.raises(PipelineError) as unknown:
        pipeline.get_lead(UUID(int=1))

    assert (conflict.value.status_code, conflict.value.message) == (
        409,
        "external_reference ref-1 already maps to an appointment at a different time; "
        "use a new external_reference for a new booking",
    )
    assert (bad.value.status_code, list(bad.value.errors)) == (400, ["lead_email"])
    assert bad.value.message == bad.value.errors["lead_email"][0]
    assert (unknown.value.status_code, unknown.value.message) == (404, "Resource not found")
    assert str(unknown.value) == f"Resource not found (404, request {unknown.value.request_id})"
    assert api.get("/api/external/appointments").json()["pagination"]["total"] == 1


def test_an_unknown_field_is_refused_before_anything_is_sent(pipeline: Pipeline, api: ApiClient) -> None:
    with pytest.raises(TypeError, match="BookingInputRequest has no lead_mail"):
        book(pipeline, lead_mail="ada@example.com")

    assert api.get("/api/external/appointments").json()["data"] == []


def test_the_generated_client_shares_the_errors_and_does_not_show_the_key(
    pipeline: Pipeline, api: ApiClient, live_server: Any
) -> None:
    members = list_members.sync(client=pipeline.generated)
    with (
        Pipeline(live_server.url, "pb_unknown") as other,
        pytest.raises(PipelineError, match="Invalid or revoked API key") as error,
    ):
        list_members.sync(client=other.generated)

    assert [member.email for member in members.data] == ["owner@acme.example"]
    assert error.value.status_code == 401
    assert "pb_" not in repr([pipeline.generated, other.generated, error.value, vars(error.value)])
