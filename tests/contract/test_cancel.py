"""POST /api/external/appointments/cancel: interface 4.2 and 3, decisions 16, 20, 23 and 28."""

import json

import pytest

from appointments.models import Appointment, Note
from appointments.services import change_outcome
from leads.models import Lead
from statuses.models import Status
from tests.contract.assertions import assert_invalid_fields
from tests.factories import make_member, make_provider_appointment, owner_actor, set_columns, snapshot_of, summary_of
from webhooks.models import Delivery, Event
from webhooks.services import add_endpoint

PATH = "/api/external/appointments/cancel"
SOON, LATER, PAST = "2090-01-05T10:00:00.000Z", "2091-01-05T10:00:00.000Z", "2020-01-05T10:00:00.000Z"


def book(api, reference="ref-1", time=SOON, **fields):
    return api.get_appointment(
        api.book(external_reference=reference, schedule_time=time, **fields).json()["data"]["id"]
    )


def test_cancel_rule_2_answers_200_with_the_id(api, other_organization):
    booked = book(api)

    answer = api.cancel()

    assert answer.status_code == 200
    assert answer.json() == {"status": "success", "message": answer.json()["message"], "data": {"id": booked["id"]}}
    assert answer.json()["message"]


def test_cancel_effects_outcome_lead_status_meeting_url(api):
    booked = book(api, meeting_url="https://meet.example/1")

    api.cancel()

    after = api.get_appointment(booked["id"])
    assert (after["outcome"]["role"], after["meeting_url"], after["no_show"]) == ("CANCELED", None, False)
    assert api.get_lead(booked["lead"]["id"])["status"]["role"] == "CANCELED"
    changed = {name for name in booked if after[name] != booked[name]}
    assert changed == {"outcome", "meeting_url", "lead", "updated_at"}


def test_cancel_effects_events_mails_and_deliveries(api, organization, other_organization):
    make_member(organization, "hana@acme.example")
    endpoint, _ = add_endpoint(
        organization=organization, url="https://hooks.example.com/a", types=["appointment.canceled"]
    )
    book(api, host_email="hana@acme.example")

    api.cancel()

    after = summary_of(organization)
    assert after["events"] == ["appointment.canceled", "appointment.created", "lead.created", "lead.status_changed"]
    assert after["notifications"] == [("CALL_BOOKED", "hana@acme.example"), ("CALL_CANCELED", "hana@acme.example")]
    assert list(Delivery.objects.of(organization).values_list("endpoint_id", "event__type")) == [
        (endpoint.id, "appointment.canceled")
    ]


@pytest.mark.parametrize("reference", [..., None, ""])
def test_cancel_requires_the_reference(api, organization, reference):
    book(api)
    before = snapshot_of(organization)

    answer = api.post(PATH, {} if reference is ... else {"external_reference": reference})

    sentence = "external_reference is required"
    assert answer.status_code == 400
    assert answer.json() == {"status": "error", "message": sentence, "errors": {"external_reference": [sentence]}}
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("value", [5, True, ["ref-1"], {"a": "ref-1"}, "a" * 256])
def test_cancel_refuses_a_bad_reference(api, organization, value):
    book(api)
    before = snapshot_of(organization)

    assert_invalid_fields(api.cancel(external_reference=value), "external_reference")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("value", [5, False, ["a"], {}, "a" * 10_001])
def test_cancel_refuses_bad_notes(api, organization, value):
    book(api)
    before = snapshot_of(organization)

    assert_invalid_fields(api.cancel(notes=value), "notes")

    assert snapshot_of(organization) == before


@pytest.mark.parametrize("nothing", [None, ""])
def test_decision_3_notes_given_as_nothing_are_absent(api, nothing):
    book(api, notes="from the booking")

    answer = api.cancel(notes=nothing)

    assert answer.status_code == 200
    assert api.get_data("/api/external/appointments")[0]["notes"]["note"] == "from the booking"


def test_cancel_rule_3_an_unknown_reference_is_404_and_named(api, organization):
    book(api)
    before = snapshot_of(organization)

    answer = api.cancel(external_reference="ref-9")

    assert (answer.status_code, sorted(answer.json()), answer.json()["status"]) == (404, ["message", "status"], "error")
    assert "ref-9" in answer.json()["message"]
    assert snapshot_of(organization) == before


def test_cancel_of_a_strangers_reference_is_404_and_changes_nothing(api, other_api, organization, other_organization):
    book(other_api)
    before = snapshot_of(organization), snapshot_of(other_organization)

    answer = api.cancel()

    assert answer.status_code == 404
    assert (snapshot_of(organization), snapshot_of(other_organization)) == before


@pytest.mark.parametrize("provider", ["SCHEDULER_A", "SCHEDULER_B", "SCHEDULER_C"])
def test_decision_23_a_providers_appointment_is_409_and_the_provider_named(api, organization, provider):
    make_provider_appointment(organization, source=provider)
    before = snapshot_of(organization)

    answer = api.cancel()

    assert (answer.status_code, sorted(answer.json()), answer.json()["status"]) == (409, ["message", "status"], "error")
    assert provider in answer.json()["message"]
    assert snapshot_of(organization) == before


def test_cancel_rule_1_of_two_with_one_reference_the_manual_one_is_canceled(api, organization):
    provider = make_provider_appointment(organization)
    booked = book(api)

    answer = api.cancel()

    assert answer.json()["data"] == {"id": booked["id"]}
    assert api.get_appointment(booked["id"])["outcome"]["role"] == "CANCELED"
    assert api.get_appointment(str(provider.id))["outcome"]["role"] == "APPOINTMENT_BOOKED"


def test_decision_28_canceling_again_is_200_and_changes_nothing(api, organization):
    booked = book(api)
    api.cancel(notes="ill")
    before = snapshot_of(organization)

    answers = [api.cancel(notes="ill"), api.cancel()]

    assert [(answer.status_code, answer.json()["data"]) for answer in answers] == [(200, {"id": booked["id"]})] * 2
    assert snapshot_of(organization) == before


def test_decision_28_canceling_again_with_another_note_stores_the_note_alone(api, organization):
    booked = book(api)
    api.cancel(notes="ill")
    before = summary_of(organization)

    api.cancel(notes="on holiday")

    assert summary_of(organization) == before
    assert list(Note.objects.of(organization).order_by("id").values_list("note", flat=True)) == ["ill", "on holiday"]
    assert api.get_data("/api/external/appointments")[0]["notes"] == {"note": "on holiday", "mention_users": []}
    assert api.get_appointment(booked["id"])["outcome"]["role"] == "CANCELED"


def test_cancel_rule_4_the_outcome_is_applied_again_after_staff_changed_it(api, organization):
    booked = book(api)
    api.cancel()
    appointment = Appointment.objects.of(organization).get(pk=booked["id"])
    follow_up = Status.objects.of(organization).get(role="FOLLOW_UP")
    change_outcome(
        organization=organization, actor=owner_actor(organization), appointment=appointment, status_id=follow_up.id
    )

    api.cancel()

    assert api.get_appointment(booked["id"])["outcome"]["role"] == "CANCELED"
    assert summary_of(organization)["events"].count("appointment.canceled") == 2
    assert summary_of(organization)["notifications"].count(("CALL_CANCELED", "owner@acme.example")) == 2


@pytest.mark.parametrize("role", ["WON", "PARTIAL_PAYMENT"])
def test_decision_20_a_cancellation_never_moves_a_lead_that_has_paid(api, organization, role):
    booked = book(api)
    api.patch(f"/api/external/leads/{booked['lead']['id']}/status", {"status_id": api.get_status(role)["id"]})
    before = summary_of(organization)["events"].count("lead.status_changed")

    api.cancel()

    assert api.get_appointment(booked["id"])["outcome"]["role"] == "CANCELED"
    assert api.get_lead(booked["lead"]["id"])["status"]["role"] == role
    assert summary_of(organization)["events"].count("lead.status_changed") == before


def test_decision_20_a_lead_with_another_upcoming_appointment_stays_booked(api):
    first = book(api)
    book(api, "ref-2", LATER)

    api.cancel()

    lead = api.get_lead(first["lead"]["id"])
    assert (lead["status"]["role"], lead["next_touch_point_at"], lead["next_touch_point_type"]) == (
        "APPOINTMENT_BOOKED",
        LATER,
        "APPOINTMENT",
    )


@pytest.mark.parametrize("other", ["in_the_past", "canceled"])
def test_decision_20_another_appointment_that_is_over_keeps_nobody_booked(api, other):
    first = book(api)
    book(api, "ref-2", PAST if other == "in_the_past" else LATER)
    if other == "canceled":
        api.cancel(external_reference="ref-2")

    api.cancel()

    lead = api.get_lead(first["lead"]["id"])
    assert (lead["status"]["role"], lead["next_touch_point_at"], lead["next_touch_point_type"]) == (
        "CANCELED",
        None,
        None,
    )


def test_decision_16_canceling_leaves_a_touch_point_that_staff_set(api, organization):
    lead = book(api)["lead"]["id"]
    set_columns(Lead, organization, lead, next_touch_point_at="2089-01-01T00:00:00Z", next_touch_point_type="CALL")

    api.cancel()

    shown = api.get_lead(lead)
    assert (shown["next_touch_point_at"], shown["next_touch_point_type"]) == ("2089-01-01T00:00:00.000Z", "CALL")


def test_cancel_of_a_call_in_the_past(api):
    booked = book(api, time=PAST)

    answer = api.cancel()

    assert answer.status_code == 200
    assert api.get_appointment(booked["id"])["outcome"]["role"] == "CANCELED"
    assert api.get_lead(booked["lead"]["id"])["status"]["role"] == "CANCELED"


def test_cancel_notes_explain_the_cancellation(api):
    book(api, notes="from the booking")

    api.cancel(notes="é" * 10_000)

    assert api.get_data("/api/external/appointments")[0]["notes"] == {"note": "é" * 10_000, "mention_users": []}


def test_decision_31_previous_holds_only_what_changed(api, organization):
    book(api)

    api.cancel()

    assert previous_of(organization) == {"outcome"}


def test_decision_31_previous_holds_the_meeting_url_that_was_cleared(api, organization):
    book(api, meeting_url="https://meet.example/1")

    api.cancel()

    assert previous_of(organization) == {"outcome", "meeting_url"}


def previous_of(organization):
    return set(json.loads(Event.objects.of(organization).get(type="appointment.canceled").body)["previous"])
