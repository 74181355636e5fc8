"""POST /api/external/appointments/reschedule, and what cancel says about the cause (docs/interface.md, A37 to A42)."""

import json
from datetime import UTC, datetime
from threading import Thread
from uuid import UUID

import pytest
from django.db import IntegrityError, connections, transaction

from appointments.models import Appointment, AppointmentChange, FormerReference
from appointments.services import edit_appointment, reschedule
from leads.models import Lead
from leads.privacy.erasing import finish, request_erasure
from leads.privacy.models import Erasure
from statuses.models import Status
from tests.client import ApiClient
from tests.contract.assertions import assert_error, assert_error_format, assert_invalid_fields
from tests.contract.concurrency import field_values, run_concurrently, status_codes
from tests.factories import make_member, make_provider_appointment, owner_actor, snapshot_of, summary_of
from webhooks.models import Delivery, Event
from webhooks.services import add_endpoint

SOON, LATER, PAST = "2090-01-05T10:00:00.000Z", "2091-01-05T10:00:00.000Z", "2020-01-05T10:00:00.000Z"
LATEST = "2092-01-05T10:00:00.000Z"


def book(api, reference="ref-1", time=SOON, **fields):
    """Book and return the appointment's id."""
    return api.book(external_reference=reference, schedule_time=time, **fields).json()["data"]["id"]


def move(api, reference="ref-1", time=LATER, new=None, **fields):
    """Reschedule an appointment, with a new reference if it is given."""
    return api.reschedule(external_reference=reference, schedule_time=time, new_external_reference=new, **fields)


def bodies(organization, type):
    """Return the bodies of the events of this type, the oldest first."""
    events = Event.objects.of(organization).filter(type=type).order_by("id")
    return [json.loads(event.body) for event in events]


def test_a_rescheduling_is_200_with_the_id(api, other_organization):
    """docs/interface.md, A38"""
    id = book(api)

    response = move(api)

    assert response.status_code == 200
    assert response.json() == {"status": "success", "message": "Appointment rescheduled", "data": {"id": id}}
    assert api.get_appointment(id)["schedule_time"] == LATER


def test_it_changes_time_url_and_touch_point_only(api):
    """docs/interface.md, A38"""
    id = book(api, meeting_url="https://meet.example/1")
    before = api.get_appointment(id)

    move(api, meeting_url="https://meet.example/2")

    after = api.get_appointment(id)
    assert (after["meeting_url"], after["lead"]["next_touch_point_at"]) == ("https://meet.example/2", LATER)
    changed = {name for name in before if after[name] != before[name]}
    assert changed == {"schedule_time", "meeting_url", "lead", "updated_at"}


def test_without_a_url_the_present_one_stays(api):
    id = book(api, meeting_url="https://meet.example/1")

    move(api)

    assert api.get_appointment(id)["meeting_url"] == "https://meet.example/1"


def test_it_records_one_event_and_sends_one_mail(api, organization, other_organization):
    """docs/interface.md, A38, A42"""
    make_member(organization, "hana@acme.example")
    endpoint, _ = add_endpoint(
        organization=organization, url="https://hooks.example.com/a", event_types=["appointment.rescheduled"]
    )
    id = book(api, host_email="hana@acme.example")

    move(api, new="ref-2", meeting_url="https://meet.example/2", rescheduled_by="LEAD", reason="Is ill")

    assert summary_of(organization)["events"] == [
        "appointment.created",
        "appointment.rescheduled",
        "lead.created",
        "lead.updated",
    ]
    assert summary_of(organization)["notifications"] == [
        ("CALL_BOOKED", "hana@acme.example"),
        ("CALL_RESCHEDULED", "hana@acme.example"),
    ]
    assert Delivery.objects.of(organization).get().endpoint_id == endpoint.pk
    (body,) = bodies(organization, "appointment.rescheduled")
    assert [*body] == [
        *("id", "type", "timestamp", "organization_id", "is_test", "request_id"),
        *("data", "previous", "attribution", "details", "actor"),
    ]
    assert body["previous"] == {"schedule_time": SOON, "meeting_url": None, "external_reference": "ref-1"}
    assert body["details"] == {"rescheduled_by": "LEAD", "reason": "Is ill", "duration_minutes": None}
    assert body["data"] == api.get_appointment(id)


def test_notes_are_stored_once_as_a_note(api, organization):
    """docs/interface.md, A38"""
    book(api)

    for _ in range(2):
        move(api, notes="The lead is traveling")

    (appointment,) = api.get_data("/api/external/appointments")
    assert appointment["notes"]["note"] == "The lead is traveling"
    assert summary_of(organization)["events"].count("note.created") == 1


def test_a_move_to_another_time_stores_a_note_that_was_given_before(api, organization):
    """docs/interface.md, A39"""
    book(api)

    move(api, notes="The lead is ill")
    api.reschedule(external_reference="ref-1", schedule_time="2027-02-02T10:00:00Z", notes="The lead is ill")

    assert summary_of(organization)["events"].count("note.created") == 2


def test_a_repeat_is_200_and_changes_nothing(api, organization):
    """docs/interface.md, A39"""
    id = book(api)
    move(api)
    before = snapshot_of(organization)

    response = move(api)

    assert (response.status_code, response.json()["data"]["id"]) == (200, id)
    assert snapshot_of(organization) == before


def test_all_references_lead_to_the_appointment(api):
    """docs/interface.md, A40"""
    id = book(api)
    move(api, new="ref-2")
    move(api, "ref-2", LATEST, new="ref-3")

    created = [
        api.book(external_reference=reference, schedule_time=time)
        for reference, time in [("ref-1", SOON), ("ref-2", LATER), ("ref-3", LATEST), ("ref-1", LATEST)]
    ]
    moved = [move(api, reference, LATEST) for reference in ("ref-1", "ref-2", "ref-3")]
    canceled = [api.cancel(external_reference=reference) for reference in ("ref-1", "ref-2", "ref-3")]

    assert [response.status_code for response in [*created, *moved, *canceled]] == [200] * 10
    assert field_values([*created, *moved, *canceled], "id") == {id}
    assert [row["external_reference"] for row in api.get_data("/api/external/appointments")] == ["ref-3"]
    for reference in ("ref-1", "ref-2", "ref-3"):
        found = api.get_data("/api/external/appointments", {"external_reference": reference})
        assert [row["id"] for row in found] == [id]


def test_creating_with_a_former_reference_at_a_third_time_is_409(api, organization):
    """docs/interface.md, A16, A40"""
    book(api)
    move(api, new="ref-2")
    before = snapshot_of(organization)

    response = api.book(schedule_time=LATEST)

    assert_error_format(response, 409)
    assert snapshot_of(organization) == before


def test_a_repeat_with_a_new_reference_changes_nothing_even_after_staff_or_another_request_moved_it(api, organization):
    """docs/interface.md, A39"""
    id = book(api)
    appointment = Appointment.objects.of(organization).get(pk=id)
    move(api, new="ref-2")
    by_staff = datetime(2093, 1, 5, tzinfo=UTC)
    reschedule(organization=organization, actor=owner_actor(organization), appointment=appointment, to=by_staff)
    before = snapshot_of(organization)

    assert move(api, new="ref-2").json()["data"]["id"] == id
    assert snapshot_of(organization) == before

    move(api, "ref-2", LATEST, new="ref-3")
    before = snapshot_of(organization)
    assert move(api, new="ref-2").json()["data"]["id"] == id
    assert snapshot_of(organization) == before


def test_a_reference_that_the_appointment_has_can_be_sent_with_another_time(api):
    """docs/interface.md, A40"""
    id = book(api)
    move(api, new="ref-2")

    responses = [move(api, "ref-2", LATEST, new="ref-2"), move(api, "ref-1", SOON, new="ref-2")]

    assert [response.status_code for response in responses] == [200, 200]
    appointment = api.get_appointment(id)
    assert (appointment["schedule_time"], appointment["external_reference"]) == (SOON, "ref-2")


def test_a_reference_of_another_appointment_is_409_and_changes_nothing(api, organization):
    """docs/interface.md, A40"""
    book(api)
    book(api, "ref-2", lead_email="b@example.com")
    move(api, "ref-2", LATER, new="ref-3")
    before = snapshot_of(organization)

    for reference in ("ref-2", "ref-3"):
        response = move(api, new=reference)
        assert_error_format(response, 409)
        assert response.json()["message"] == (
            f"new_external_reference {reference} already belongs to another appointment"
        )

    assert snapshot_of(organization) == before


def test_a_reference_of_a_provider_or_of_another_organization_is_free(api, other_api, organization):
    """docs/interface.md, A8, G22"""
    make_provider_appointment(organization, external_reference="ref-2")
    book(other_api, "ref-3")
    book(api)

    assert [move(api, new=new, time=time).status_code for new, time in [("ref-2", LATER), ("ref-3", LATEST)]] == [
        200,
        200,
    ]


def test_an_unknown_reference_is_404_with_a_message_that_contains_it(api, other_api, organization, other_organization):
    """docs/interface.md, A41, G22"""
    book(other_api)
    before = snapshot_of(organization), snapshot_of(other_organization)

    response = move(api, new="ref-2")

    assert_error_format(response, 404)
    assert response.json()["message"] == "No appointment found for external_reference ref-1"
    assert (snapshot_of(organization), snapshot_of(other_organization)) == before


def test_an_appointment_of_a_provider_is_409(api, organization):
    """docs/interface.md, A41"""
    make_provider_appointment(organization, external_reference="sync-1", source="SCHEDULER_B")
    before = snapshot_of(organization)

    response = move(api, "sync-1")

    assert_error_format(response, 409)
    assert response.json()["message"] == (
        "The appointment for external_reference sync-1 is managed by SCHEDULER_B; reschedule it there"
    )
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("new", [None, "ref-2"])
@pytest.mark.parametrize("time", [SOON, LATER])
def test_a_canceled_appointment_is_booked_again(api, organization, time, new):
    """docs/interface.md, A38"""
    make_member(organization, "hana@acme.example")
    id = book(api, host_email="hana@acme.example")
    api.cancel()

    response = move(api, time=time, new=new, meeting_url="https://meet.example/2")

    assert response.status_code == 200
    after = api.get_appointment(id)
    assert (after["outcome"]["role"], after["schedule_time"]) == ("APPOINTMENT_BOOKED", time)
    assert after["meeting_url"] == "https://meet.example/2"
    assert api.get_lead(after["lead"]["id"])["status"]["role"] == "APPOINTMENT_BOOKED"
    topic = "appointment.rescheduled" if new or time == LATER else "appointment.outcome_changed"
    assert len(bodies(organization, topic)) == 1
    kinds = {kind for kind, _ in summary_of(organization)["notifications"]}
    assert kinds == {"CALL_BOOKED", "CALL_CANCELED"} | ({"CALL_RESCHEDULED"} if time == LATER else set())


def test_a_no_show_at_the_same_time_stays_one(api, organization):
    """docs/interface.md, A39"""
    appointment = Appointment.objects.of(organization).get(pk=book(api))
    no_show = Status.objects.of(organization).get(role="NO_SHOW")
    edit_appointment(
        organization=organization, actor=owner_actor(organization), appointment=appointment, status_id=no_show.pk
    )
    before = snapshot_of(organization)

    assert move(api, time=SOON).status_code == 200

    assert snapshot_of(organization) == before


def test_a_call_marked_as_rescheduled_is_open_again_at_another_time_only(api, organization):
    """docs/interface.md, A28, A39"""
    make_member(organization, "hana@acme.example")
    id = book(api, host_email="hana@acme.example")
    lead_id, rescheduled = api.get_appointment(id)["lead"]["id"], api.get_status("RESCHEDULED")["id"]
    api.patch(f"/api/external/appointments/{id}", {"status_id": rescheduled})
    api.patch(f"/api/external/leads/{lead_id}/status", {"status_id": rescheduled})
    before = snapshot_of(organization)

    move(api, time=SOON)
    assert snapshot_of(organization) == before
    move(api, time=LATER)

    assert api.get_appointment(id)["outcome"]["role"] == "APPOINTMENT_BOOKED"
    assert api.get_lead(lead_id)["status"]["role"] == "APPOINTMENT_BOOKED"
    (body,) = bodies(organization, "appointment.rescheduled")
    assert body["previous"]["outcome"]["role"] == "RESCHEDULED"
    assert summary_of(organization)["notifications"][1:] == [("CALL_RESCHEDULED", "hana@acme.example")]


def test_a_canceled_call_with_another_outcome_since_is_booked_again_too(api, organization):
    """docs/interface.md, A28"""
    make_member(organization, "hana@acme.example")
    id = book(api, host_email="hana@acme.example")
    for role in ("CANCELED", "FOLLOW_UP"):
        api.patch(f"/api/external/appointments/{id}", {"outcome_role": role})

    move(api, time=LATER)

    found = api.get_appointment(id)
    assert found["outcome"]["role"] == "APPOINTMENT_BOOKED"
    assert api.get_lead(found["lead"]["id"])["status"]["role"] == "APPOINTMENT_BOOKED"
    assert summary_of(organization)["notifications"][-1] == ("CALL_RESCHEDULED", "hana@acme.example")


def test_a_new_reference_at_the_same_time_is_an_event_without_mail(api, organization):
    """docs/interface.md, A40"""
    make_member(organization, "hana@acme.example")
    book(api, host_email="hana@acme.example")

    move(api, time=SOON, new="ref-2")

    (body,) = bodies(organization, "appointment.rescheduled")
    assert body["previous"] == {"external_reference": "ref-1"}
    assert summary_of(organization)["notifications"] == [("CALL_BOOKED", "hana@acme.example")]


def test_a_move_into_the_past_tells_nobody(api, organization):
    """docs/interface.md, A32"""
    make_member(organization, "hana@acme.example")
    book(api, host_email="hana@acme.example")

    assert move(api, time=PAST, new="ref-2").status_code == 200

    assert summary_of(organization)["notifications"] == [("CALL_BOOKED", "hana@acme.example")]


def test_staff_actions_have_no_details(api, organization):
    """docs/interface.md, A42"""
    appointment = Appointment.objects.of(organization).get(pk=book(api))

    reschedule(
        organization=organization,
        actor=owner_actor(organization),
        appointment=appointment,
        to=datetime(2093, 1, 5, tzinfo=UTC),
    )

    (body,) = bodies(organization, "appointment.rescheduled")
    assert body["details"] == {"rescheduled_by": None, "reason": None, "duration_minutes": None}


@pytest.mark.parametrize("canceled_by", ["LEAD", "HOST", "SYSTEM"])
def test_a_cancellation_tells_its_cause_in_the_event(api, organization, canceled_by):
    """docs/interface.md, A42"""
    details = {"canceled_by": canceled_by, "reason": "Is ill", "rescheduled_to": "ref-2"}
    book(api)

    response = api.cancel(**details)

    assert response.status_code == 200
    (body,) = bodies(organization, "appointment.canceled")
    assert body["details"] == details
    assert api.get_data("/api/external/appointments")[0]["notes"] is None


@pytest.mark.parametrize("canceled_first", [False, True])
def test_a_scheduler_may_report_the_cancellation_and_the_new_booking_in_either_order(api, organization, canceled_first):
    """docs/interface.md, A42"""
    id = book(api)
    requests = [lambda: api.cancel(rescheduled_to="ref-2"), lambda: move(api, new="ref-2")]

    responses = [request() for request in (requests if canceled_first else reversed(requests))]

    assert [response.status_code for response in responses] == [200, 200]
    appointment = api.get_appointment(id)
    assert (appointment["outcome"]["role"], appointment["schedule_time"]) == ("APPOINTMENT_BOOKED", LATER)
    assert summary_of(organization)["events"].count("appointment.canceled") == canceled_first


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("external_reference", None),
        ("external_reference", 5),
        ("external_reference", "a" * 256),
        ("schedule_time", None),
        ("schedule_time", "soon"),
        ("schedule_time", 5),
        ("new_external_reference", 5),
        ("new_external_reference", "a" * 256),
        ("new_external_reference", "a\0"),
        ("meeting_url", "javascript:alert(1)"),
        ("notes", "a" * 10_001),
        ("rescheduled_by", "SYSTEM"),
        ("rescheduled_by", []),
        ("reason", "a" * 10_001),
        ("reason", {}),
    ],
)
def test_an_invalid_field_is_400(api, organization, field, value):
    """docs/interface.md, A37, G12, G15"""
    book(api)
    before = snapshot_of(organization)

    assert_invalid_fields(api.reschedule(**{field: value}), field)

    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    ("field", "value"),
    [("canceled_by", "lead"), ("canceled_by", 5), ("reason", []), ("rescheduled_to", 5), ("rescheduled_to", "a" * 256)],
)
def test_an_invalid_field_of_a_cancellation_is_400(api, organization, field, value):
    """docs/interface.md, A20, G12, G15"""
    book(api)
    before = snapshot_of(organization)

    assert_invalid_fields(api.cancel(**{field: value}), field)

    assert snapshot_of(organization) == before


def test_blank_optional_fields_count_as_absent(api, organization):
    """docs/interface.md, G13"""
    id = book(api, meeting_url="https://meet.example/1")

    response = move(api, new="", meeting_url="", notes=None, rescheduled_by="", reason=None)

    assert response.status_code == 200
    appointment = api.get_appointment(id)
    assert (appointment["external_reference"], appointment["meeting_url"]) == ("ref-1", "https://meet.example/1")


def test_erasing_forgets_former_references_and_reasons(api, organization):
    """docs/interface.md, A40"""
    lead = Lead.objects.of(organization).get(pk=api.get_appointment(book(api))["lead"]["id"])
    move(api, new="ref-2", reason="Is ill")
    actor = owner_actor(organization)
    erasure = Erasure.objects.create(
        organization=organization, lead_id=lead.pk, actor_kind=actor.kind, actor_id=actor.id, actor_name=actor.name
    )

    finish(erasure)

    assert [*FormerReference.objects.of(organization), *AppointmentChange.objects.of(organization)] == []
    assert "Is ill" not in "".join(text for _, text in snapshot_of(organization))
    assert move(api, "ref-1").status_code == move(api, "ref-2").status_code == 404


def test_the_database_refuses_a_former_reference_for_another_appointment(api, organization):
    book(api)
    move(api, new="ref-2")
    id = book(api, "ref-3", lead_email="b@example.com")

    with pytest.raises(IntegrityError), transaction.atomic():
        Appointment.objects.of(organization).filter(pk=id).update(external_reference="ref-1")


@pytest.mark.django_db(transaction=True)
def test_concurrent_reschedulings_to_one_new_reference_give_it_to_one_appointment(api, organization):
    """docs/interface.md, A40"""
    for number in range(16):
        book(api, f"old-{number}", lead_email=f"l{number}@example.com")
    requests = [lambda api, n=n: move(api, f"old-{n}", new="new") for n in range(16)]

    responses = run_concurrently(api.key, *requests)

    assert status_codes(responses) == {200: 1, 409: 15}
    assert FormerReference.objects.of(organization).count() == 1
    assert summary_of(organization)["events"].count("appointment.rescheduled") == 1


@pytest.mark.django_db(transaction=True)
def test_concurrent_repeats_move_the_appointment_once(api, organization):
    """docs/interface.md, A39"""
    id = book(api)

    responses = run_concurrently(api.key, *[lambda api: move(api, new="ref-2")] * 48)

    assert status_codes(responses) == {200: 48}
    assert field_values(responses, "id") == {id}
    assert summary_of(organization)["events"].count("appointment.rescheduled") == 1


@pytest.mark.django_db(transaction=True)
def test_bookings_of_the_new_reference_at_the_same_time_leave_one_appointment_with_it(api, organization):
    """docs/interface.md, A31, A40"""
    book(api)
    requests = [lambda api: move(api, new="ref-2"), lambda api: api.book(external_reference="ref-2")] * 8

    responses = run_concurrently(api.key, *requests)

    assert status_codes(responses).keys() <= {200, 201, 409}
    former = [*FormerReference.objects.of(organization).values_list("external_reference", flat=True)]
    present = [*Appointment.objects.of(organization).values_list("external_reference", flat=True)]
    assert sorted([*former, *present]) == ["ref-1", "ref-2"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("request_name", ["book", "cancel", "reschedule"])
def test_a_request_that_waits_for_a_move_finds_the_appointment_by_its_former_reference(api, organization, request_name):
    """docs/interface.md, A40"""
    id = book(api)
    results = []

    def send():
        client = ApiClient(api.key)
        fields = {"schedule_time": SOON} if request_name == "book" else {}
        results.append(getattr(client, request_name)(external_reference="ref-1", **fields))
        connections.close_all()

    with transaction.atomic():
        move(api, new="ref-2")
        thread = Thread(target=send)
        thread.start()
        thread.join(timeout=1)
    thread.join(timeout=30)

    (response,) = results
    assert (response.status_code, response.json()["data"]["id"]) == (200, id)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("request_name", ["cancel", "reschedule"])
@pytest.mark.parametrize("reference", ["ref-1", "ref-2"])
def test_a_request_that_waits_for_an_erasure_is_404(api, organization, reference, request_name):
    """docs/interface.md, A40, L20"""
    lead_id = api.get_appointment(book(api))["lead"]["id"]
    move(api, new="ref-2")
    results = []

    def send():
        client = ApiClient(api.key)
        results.append(getattr(client, request_name)(external_reference=reference, notes="Is ill"))
        connections.close_all()

    with transaction.atomic():
        request_erasure(organization=organization, actor=owner_actor(organization), lead_id=UUID(lead_id))
        thread = Thread(target=send)
        thread.start()
        thread.join(timeout=1)
        assert results == []
    thread.join(timeout=30)

    assert_error(results[0], 404, f"No appointment found for external_reference {reference}")
    assert "Is ill" not in "".join(text for _, text in snapshot_of(organization))


@pytest.mark.django_db(transaction=True)
def test_a_reference_inserted_while_it_becomes_a_former_one_is_refused(api, organization):
    """The trigger sees what the insert has waited for."""
    book(api)
    other = book(api, "ref-9", lead_email="b@example.com")
    results = []

    def take():
        try:
            Appointment.unscoped.filter(pk=other).update(external_reference="ref-1")
            results.append("stored")
        except IntegrityError:
            results.append("refused")
        finally:
            connections.close_all()

    with transaction.atomic():
        move(api, new="ref-2")
        thread = Thread(target=take)
        thread.start()
        thread.join(timeout=1)
        assert results == []
    thread.join(timeout=30)

    assert results == ["refused"]
