"""POST /api/external/appointments: new bookings, retries and conflicts (docs/interface.md, A8 to A10, A13 to A17)."""

import re
from datetime import UTC, datetime
from uuid import UUID

import pytest

from appointments.models import Appointment
from appointments.services import reschedule
from notifications.models import Kind
from tests.client import SCHEDULE_TIME
from tests.contract.assertions import assert_error_format, assert_invalid_fields
from tests.factories import deactivate, make_member, make_provider_appointment, owner_actor, snapshot_of, summary_of
from webhooks.models import Delivery
from webhooks.services import add_endpoint

OTHER_TIME = "2027-01-06T10:00:00Z"


def test_a_new_reference_is_201_with_the_id(api, other_organization, organization):
    """docs/interface.md, A14"""
    response = api.book()

    id = response.json()["data"]["id"]
    assert response.status_code == 201
    assert response.json() == {
        "status": "success",
        "message": response.json()["message"],
        "data": {"id": id, "is_duplicate": False},
    }
    assert response.json()["message"]
    assert UUID(id).version == 7
    assert api.get_appointment(id)["external_reference"] == "ref-1"


# All of these are the same instant once they are cut to milliseconds.
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
def test_a_known_reference_with_the_same_time_is_200_and_creates_nothing(api, organization, time):
    """docs/interface.md, A15"""
    first = api.book().json()["data"]["id"]
    before = snapshot_of(organization)

    response = api.book(schedule_time=time)

    assert response.status_code == 200
    assert response.json() == {
        "status": "success",
        "message": response.json()["message"],
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
            {"notes": "new", "meeting_url": "https://meet.example/2", "lead_phone": "+442079460000"}, id="other_values"
        ),
    ],
)
def test_a_retry_ignores_all_fields_but_the_reference_and_the_time(api, organization, fields):
    """docs/interface.md, A15"""
    first = api.book().json()["data"]
    before = snapshot_of(organization)

    response = api.book(**fields)

    assert (response.status_code, response.json()["data"]) == (200, {"id": first["id"], "is_duplicate": True})
    assert snapshot_of(organization) == before


def test_a_retry_succeeds_after_the_host_has_left(api, host):
    """docs/interface.md, A15"""
    first = api.book(host_email="hana@acme.example").json()["data"]["id"]
    deactivate(host)

    response = api.book(host_email="hana@acme.example")

    assert (response.status_code, response.json()["data"]) == (200, {"id": first, "is_duplicate": True})


def test_a_retry_of_a_canceled_booking_is_200_and_creates_nothing(api, organization):
    """docs/interface.md, A15"""
    first = api.book().json()["data"]["id"]
    api.cancel()
    before = snapshot_of(organization)

    response = api.book()

    assert (response.status_code, response.json()["data"]) == (200, {"id": first, "is_duplicate": True})
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("time", ["2027-01-05T10:00:00.001Z", "2027-01-05T10:00:00+01:00", OTHER_TIME])
def test_a_known_reference_with_another_time_is_409_and_changes_nothing(api, organization, time):
    """docs/interface.md, A16"""
    api.book()
    before = snapshot_of(organization)

    # The host is unknown, but the reference is looked up before the members (A13).
    response = api.book(
        schedule_time=time, lead_email="new@example.com", event_type_name="New", host_email="nobody@acme.example"
    )

    assert_error_format(response, 409)
    assert re.search("(different|another) time", response.json()["message"])
    assert re.search("new (external_)?reference", response.json()["message"])
    assert snapshot_of(organization) == before


def test_after_rescheduling_the_first_and_the_present_time_are_retries(api, organization):
    """docs/interface.md, A15, A16"""
    id = api.book().json()["data"]["id"]
    for time in [datetime(2028, 1, 5, tzinfo=UTC), datetime(2028, 1, 6, tzinfo=UTC)]:
        appointment = Appointment.objects.of(organization).get(pk=id)
        reschedule(organization=organization, actor=owner_actor(organization), appointment=appointment, to=time)
    before = snapshot_of(organization)

    retries = [api.book(schedule_time=time) for time in [SCHEDULE_TIME, "2028-01-06T00:00:00Z"]]
    refused = api.book(schedule_time="2028-01-05T00:00:00Z")

    duplicate = {"id": id, "is_duplicate": True}
    assert [(retry.status_code, retry.json().get("data")) for retry in retries] == [(200, duplicate)] * 2
    assert refused.status_code == 409
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("time", [SCHEDULE_TIME, OTHER_TIME])
def test_malformed_fields_are_checked_before_the_reference(api, organization, time):
    """docs/interface.md, A13, A15"""
    api.book()
    before = snapshot_of(organization)

    response = api.book(schedule_time=time, meeting_url="ftp://meet.example")

    assert_invalid_fields(response, "meeting_url")
    assert snapshot_of(organization) == before


def test_a_providers_appointment_with_the_same_reference_does_not_conflict(api, organization):
    """docs/interface.md, A8"""
    provider_appointment = make_provider_appointment(organization, external_reference="ref-1")

    response = api.book(schedule_time=OTHER_TIME)

    assert response.status_code == 201
    assert response.json()["data"]["id"] != str(provider_appointment.id)
    assert api.get_appointment(response.json()["data"]["id"])["source"] == "MANUAL"


def test_two_references_create_two_appointments_of_one_lead(api, organization):
    """docs/interface.md, A10"""
    first, second = (api.book(external_reference=name).json()["data"]["id"] for name in ["ref-1", "ref-2"])

    assert first != second
    assert api.get_appointment(first)["lead"] == api.get_appointment(second)["lead"]
    assert summary_of(organization)["leads"] == 1


def test_a_booking_sets_statuses_records_events_and_queues_notifications(api, organization, other_organization):
    """docs/interface.md, A17, S8"""
    for name in ["hana", "sam", "tri"]:
        make_member(organization, f"{name}@acme.example")

    response = api.book(
        host_email="hana@acme.example", setter_email="sam@acme.example", triager_email="tri@acme.example"
    )

    appointment = api.get_appointment(response.json()["data"]["id"])
    assert appointment["outcome"]["role"] == "APPOINTMENT_BOOKED"
    assert api.get_lead(appointment["lead"]["id"])["status"]["role"] == "APPOINTMENT_BOOKED"
    notifications = [(Kind.CALL_BOOKED, f"{name}@acme.example") for name in ["hana", "sam", "tri"]]
    events = ["appointment.created", "lead.created"]
    assert summary_of(organization) == {
        "appointments": 1,
        "leads": 1,
        "opt_ins": 0,
        "event_types": 1,
        "events": events,
        "notifications": notifications,
    }
    assert summary_of(other_organization) == {
        "appointments": 0,
        "leads": 0,
        "opt_ins": 0,
        "event_types": 0,
        "events": [],
        "notifications": [],
    }


def test_a_booking_without_members_notifies_the_owners(api, organization):
    """docs/interface.md, N2"""
    make_member(organization, "second@acme.example", role="OWNER")
    make_member(organization, "closer@acme.example")

    api.book()

    assert summary_of(organization)["notifications"] == [
        ("CALL_BOOKED", "owner@acme.example"),
        ("CALL_BOOKED", "second@acme.example"),
    ]


def test_a_member_with_two_roles_is_notified_once_and_an_unsubscribed_one_not_at_all(api, organization, host):
    """docs/interface.md, N2, N3"""
    unsubscribed = make_member(organization, "quiet@acme.example")
    unsubscribed.wants_mail = False
    unsubscribed.save()

    api.book(host_email="hana@acme.example", setter_email="hana@acme.example", triager_email="quiet@acme.example")

    assert summary_of(organization)["notifications"] == [("CALL_BOOKED", "hana@acme.example")]


def test_the_status_change_of_an_existing_lead_is_an_event_of_its_own(api, organization):
    """docs/interface.md, A17"""
    api.submit()

    api.book()

    assert summary_of(organization)["events"] == [
        "appointment.created",
        "lead.created",
        "lead.status_changed",
        "opt_in.created",
    ]


def test_each_event_is_delivered_to_the_subscribed_endpoints(api, organization, other_organization):
    """docs/interface.md, W10"""
    all_topics, _ = add_endpoint(organization=organization, url="https://hooks.example.com/all")
    subscribed, _ = add_endpoint(
        organization=organization, url="https://hooks.example.com/one", event_types=["appointment.created"]
    )
    add_endpoint(organization=other_organization, url="https://hooks.example.com/other")

    api.book()

    deliveries = sorted(Delivery.objects.of(organization).values_list("endpoint__url", "event__type"))
    assert deliveries == [
        (all_topics.url, "appointment.created"),
        (all_topics.url, "lead.created"),
        (subscribed.url, "appointment.created"),
    ]
    assert Delivery.objects.of(other_organization).count() == 0


@pytest.mark.parametrize("role", ["WON", "PARTIAL_PAYMENT"])
def test_a_booking_does_not_change_the_status_of_a_lead_that_has_paid(api, organization, role):
    """docs/interface.md, S10"""
    lead = api.submit().json()["data"]["lead_id"]
    api.patch(f"/api/external/leads/{lead}/status", {"status_id": api.get_status(role)["id"]})

    id = api.book().json()["data"]["id"]

    assert api.get_appointment(id)["outcome"]["role"] == "APPOINTMENT_BOOKED"
    assert api.get_lead(lead)["status"]["role"] == role


def test_query_parameters_are_not_read_as_fields(api, organization):
    """docs/interface.md, A9"""
    before = snapshot_of(organization)

    response = api.request("POST", "/api/external/appointments?external_reference=ref-1", b"{}")

    assert_invalid_fields(response, "event_type_name", "external_reference", "lead_email", "schedule_time")
    assert snapshot_of(organization) == before
