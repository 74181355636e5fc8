"""POST /api/external/appointments: interface 4.1, rules 1 to 5, and decisions 20, 23, 24."""

import re
from uuid import UUID

import pytest

from appointments.models import Appointment
from appointments.services import reschedule
from notifications.models import Kind
from pipeline_backend.db.timestamps import now
from tests.client import SCHEDULE_TIME
from tests.contract.assertions import assert_invalid_fields
from tests.factories import deactivate, make_member, make_provider_appointment, owner_actor, snapshot_of, summary_of
from webhooks.models import Delivery
from webhooks.services import add_endpoint

OTHER_TIME = "2027-01-06T10:00:00Z"


def test_create_rule_1_a_new_reference_is_201_with_the_id(api, other_organization, organization):
    answer = api.book()

    id = answer.json()["data"]["id"]
    assert answer.status_code == 201
    assert answer.json() == {
        "status": "success",
        "message": answer.json()["message"],
        "data": {"id": id, "is_duplicate": False},
    }
    assert answer.json()["message"]
    assert UUID(id).version == 7
    assert api.get_appointment(id)["external_reference"] == "ref-1"


@pytest.mark.parametrize(
    "time",
    [
        pytest.param(SCHEDULE_TIME, id="the_same_text"),
        pytest.param("2027-01-05T10:00:00Z", id="without_milliseconds"),
        pytest.param("2027-01-05T10:00:00", id="without_offset"),
        pytest.param("2027-01-05T12:00:00+02:00", id="another_offset"),
        pytest.param("2027-01-05T04:30:00-05:30", id="offset_with_minutes"),
        pytest.param("2027-01-05T10:00:00.000999Z", id="microseconds"),
        pytest.param("2027-01-05T10:00:00.000000001Z", id="nanoseconds"),
    ],
)
def test_create_rule_2_a_retry_at_the_same_instant_is_200_and_creates_nothing(api, organization, time):
    first = api.book().json()["data"]["id"]
    before = snapshot_of(organization)

    answer = api.book(schedule_time=time)

    assert answer.status_code == 200
    assert answer.json() == {
        "status": "success",
        "message": answer.json()["message"],
        "data": {"id": first, "is_duplicate": True},
    }
    assert snapshot_of(organization) == before


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"lead_email": "someone.else@example.com"}, id="another_lead"),
        pytest.param({"event_type_name": "Another call"}, id="another_event_type"),
        pytest.param({"host_email": "nobody@acme.example"}, id="unknown_host"),
        pytest.param({"setter_email": "nobody@acme.example"}, id="unknown_setter"),
        pytest.param({"triager_email": "nobody@acme.example"}, id="unknown_triager"),
        pytest.param({"lead_id": "00000000-0000-7000-8000-000000000000"}, id="unknown_lead"),
        pytest.param({"event_type_id": "00000000-0000-7000-8000-000000000000"}, id="unknown_event_type"),
        pytest.param(
            {"notes": "new", "meeting_url": "https://meet.example/2", "lead_phone": "+442079460000"}, id="other_facts"
        ),
    ],
)
def test_decision_24_a_retry_looks_at_nothing_but_the_reference_and_the_time(api, organization, fields):
    first = api.book().json()["data"]
    before = snapshot_of(organization)

    answer = api.book(**fields)

    assert (answer.status_code, answer.json()["data"]) == (200, {"id": first["id"], "is_duplicate": True})
    assert snapshot_of(organization) == before


def test_decision_24_a_retry_succeeds_after_the_host_has_left(api, host):
    first = api.book(host_email="hana@acme.example").json()["data"]["id"]
    deactivate(host)

    answer = api.book(host_email="hana@acme.example")

    assert (answer.status_code, answer.json()["data"]) == (200, {"id": first, "is_duplicate": True})


def test_decision_24_a_retry_of_a_canceled_booking_is_still_a_retry(api, organization):
    first = api.book().json()["data"]["id"]
    api.cancel()
    before = snapshot_of(organization)

    answer = api.book()

    assert (answer.status_code, answer.json()["data"]) == (200, {"id": first, "is_duplicate": True})
    assert snapshot_of(organization) == before


def test_decision_24_a_retry_with_a_malformed_field_is_400(api):
    api.book()

    answer = api.book(meeting_url="ftp://meet.example")

    assert_invalid_fields(answer, "meeting_url")


@pytest.mark.parametrize("time", ["2027-01-05T10:00:00.001Z", "2027-01-05T10:00:00+01:00", OTHER_TIME])
def test_create_rule_3_a_reference_at_another_time_is_409_and_changes_nothing(api, organization, time):
    api.book()
    before = snapshot_of(organization)

    answer = api.book(
        schedule_time=time, lead_email="new@example.com", event_type_name="New", host_email="nobody@acme.example"
    )

    assert (answer.status_code, sorted(answer.json()), answer.json()["status"]) == (409, ["message", "status"], "error")
    assert re.search("(different|another) time", answer.json()["message"])
    assert re.search("new (external_)?reference", answer.json()["message"])
    assert snapshot_of(organization) == before


def test_create_rule_3_the_time_compared_is_the_one_after_rescheduling(api, organization):
    id = api.book().json()["data"]["id"]
    appointment = Appointment.objects.of(organization).get(pk=id)
    reschedule(
        organization=organization,
        actor=owner_actor(organization),
        appointment=appointment,
        to=now().replace(year=2028, day=1),
    )

    answers = [api.book(), api.book(schedule_time=api.get_appointment(id)["schedule_time"])]

    assert [answer.status_code for answer in answers] == [409, 200]


def test_create_rule_4_malformed_fields_come_before_the_409(api, organization):
    api.book()
    before = snapshot_of(organization)

    answer = api.book(schedule_time=OTHER_TIME, meeting_url="nonsense")

    assert_invalid_fields(answer, "meeting_url")
    assert snapshot_of(organization) == before


def test_decision_23_a_providers_reference_does_not_stand_in_the_way(api, organization):
    provider = make_provider_appointment(organization, external_reference="ref-1")

    answer = api.book(schedule_time=OTHER_TIME)

    assert answer.status_code == 201
    assert answer.json()["data"]["id"] != str(provider.id)
    assert api.get_appointment(answer.json()["data"]["id"])["source"] == "MANUAL"


def test_create_two_references_are_two_appointments_of_one_lead(api, organization):
    first, second = (api.book(external_reference=name).json()["data"]["id"] for name in ["ref-1", "ref-2"])

    assert first != second
    assert api.get_appointment(first)["lead"] == api.get_appointment(second)["lead"]
    assert summary_of(organization)["leads"] == 1


def test_create_rule_5_statuses_events_and_call_booked_mails(api, organization, other_organization):
    for name in ["hana", "sam", "tri"]:
        make_member(organization, f"{name}@acme.example")

    answer = api.book(host_email="hana@acme.example", setter_email="sam@acme.example", triager_email="tri@acme.example")

    shown = api.get_appointment(answer.json()["data"]["id"])
    assert shown["outcome"]["role"] == "APPOINTMENT_BOOKED"
    assert api.get_lead(shown["lead"]["id"])["status"]["role"] == "APPOINTMENT_BOOKED"
    mails = [(Kind.CALL_BOOKED, f"{name}@acme.example") for name in ["hana", "sam", "tri"]]
    events = ["appointment.created", "lead.created"]
    assert summary_of(organization) == {
        "appointments": 1,
        "leads": 1,
        "opt_ins": 0,
        "event_types": 1,
        "events": events,
        "notifications": mails,
    }
    assert summary_of(other_organization) == {
        "appointments": 0,
        "leads": 0,
        "opt_ins": 0,
        "event_types": 0,
        "events": [],
        "notifications": [],
    }


def test_decision_34_without_people_the_owners_are_told(api, organization):
    make_member(organization, "second@acme.example", role="OWNER")
    make_member(organization, "closer@acme.example")

    api.book()

    assert summary_of(organization)["notifications"] == [
        ("CALL_BOOKED", "owner@acme.example"),
        ("CALL_BOOKED", "second@acme.example"),
    ]


def test_decision_34_someone_in_two_parts_is_told_once_and_someone_who_wants_none_is_not(api, organization, host):
    quiet = make_member(organization, "quiet@acme.example")
    quiet.wants_mail = False
    quiet.save()

    api.book(host_email="hana@acme.example", setter_email="hana@acme.example", triager_email="quiet@acme.example")

    assert summary_of(organization)["notifications"] == [("CALL_BOOKED", "hana@acme.example")]


def test_create_rule_5_an_existing_leads_move_is_an_event_of_its_own(api, organization):
    api.submit()

    api.book()

    assert summary_of(organization)["events"] == [
        "appointment.created",
        "lead.created",
        "lead.status_changed",
        "opt_in.created",
    ]


def test_create_rule_5_each_event_is_delivered_to_the_endpoints_that_want_it(api, organization, other_organization):
    everyone, _ = add_endpoint(organization=organization, url="https://hooks.example.com/all")
    one, _ = add_endpoint(organization=organization, url="https://hooks.example.com/one", types=["appointment.created"])
    add_endpoint(organization=other_organization, url="https://hooks.example.com/stranger")

    api.book()

    deliveries = sorted(Delivery.objects.of(organization).values_list("endpoint__url", "event__type"))
    assert deliveries == [
        (everyone.url, "appointment.created"),
        (everyone.url, "lead.created"),
        (one.url, "appointment.created"),
    ]
    assert Delivery.objects.of(other_organization).count() == 0


@pytest.mark.parametrize("role", ["WON", "PARTIAL_PAYMENT"])
def test_decision_20_a_booking_never_moves_a_lead_that_has_paid(api, organization, role):
    lead = api.submit().json()["data"]["lead_id"]
    api.patch(f"/api/external/leads/{lead}/status", {"status_id": api.get_status(role)["id"]})

    id = api.book().json()["data"]["id"]

    assert api.get_appointment(id)["outcome"]["role"] == "APPOINTMENT_BOOKED"
    assert api.get_lead(lead)["status"]["role"] == role


def test_create_as_a_query_or_form_is_no_body(api, organization):
    before = snapshot_of(organization)

    answer = api.request("POST", "/api/external/appointments?external_reference=ref-1", b"{}")

    assert "external_reference" in answer.json()["errors"]
    assert snapshot_of(organization) == before
