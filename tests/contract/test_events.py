"""GET /api/external/events and what events hold (decisions 20, 21, 28, 30, 31, 35)."""

import re

import pytest

from appointments.models import Appointment
from appointments.services import cancel_appointment, change_outcome, reschedule
from pipeline_backend.db.timestamps import now
from statuses.models import Status
from tests.contract.assertions import assert_error
from tests.factories import owner_actor

pytestmark = pytest.mark.django_db(transaction=True)
UNKNOWN = "00000000-0000-7000-8000-000000000000"
SOON = "2090-01-05T10:00:00.000Z"


def types(api, **query):
    return [event["type"] for event in api.list_events(**query)]


def by_staff(organization, service, id, **changes):
    """A staff member's act on an appointment."""
    appointment = Appointment.objects.of(organization).get(pk=id)
    service(organization=organization, actor=owner_actor(organization), appointment=appointment, **changes)


def test_decision_35_the_feed_is_oldest_first(api, other_api):
    assert api.list_events() == []
    api.submit()
    api.book()
    other_api.submit()
    api.cancel()

    expected = [
        "lead.created",
        "opt_in.created",
        "lead.status_changed",
        "appointment.created",
        "lead.status_changed",
        "appointment.canceled",
    ]
    assert types(api) == expected


def test_decision_35_after_goes_on_where_a_receiver_was(api):
    api.submit()
    api.book()
    ids = [event["id"] for event in api.list_events()]

    assert [event["id"] for event in api.list_events(after=ids[1])] == ids[2:]
    assert api.list_events(after=ids[-1]) == []
    assert [event["id"] for event in api.list_events(after=ids[0], limit=2)] == ids[1:3]


def test_decision_35_by_type(api):
    api.submit()
    api.book()

    assert types(api, type="opt_in.created") == ["opt_in.created"]
    assert types(api, type="appointment.rescheduled") == []


def test_decision_31_an_event_says_what_when_and_whose(api, organization):
    opt_in = api.submit().json()["data"]

    created, recorded = api.list_events()

    assert created == {**head(created, organization), "type": "lead.created", "data": api.get_lead(opt_in["lead_id"])}
    assert recorded == {
        **head(recorded, organization),
        "type": "opt_in.created",
        "data": api.get_opt_in(opt_in["opt_in_id"]),
    }


def head(event, organization):
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["timestamp"])
    return {"id": event["id"], "timestamp": event["timestamp"], "organization_id": str(organization.id)}


def test_decision_31_a_bookings_data_is_the_detail(api, organization, host):
    id = api.book(host_email="hana@acme.example", meeting_url="https://meet.example/1", notes="Hi").json()["data"]["id"]

    lead, booked = api.list_events()

    assert booked == {**head(booked, organization), "type": "appointment.created", "data": api.get_appointment(id)}
    assert lead["data"] == api.get_lead(api.get_appointment(id)["lead"]["id"])


def test_decision_31_a_status_change_has_the_previous_status(api, organization):
    lead = api.submit().json()["data"]["lead_id"]
    api.patch(f"/api/external/leads/{lead}/status", {"status_id": api.get_status("WON")["id"]})

    event = api.list_events()[-1]

    assert event == {
        **head(event, organization),
        "type": "lead.status_changed",
        "data": api.get_lead(lead),
        "previous": event["previous"],
    }
    assert list(event["previous"]) == ["status"]
    assert event["previous"]["status"]["role"] == "NEW_LEAD"


def test_decision_31_a_cancellation_has_the_previous_outcome(api, organization):
    id = api.book(meeting_url="https://meet.example/1").json()["data"]["id"]
    api.cancel()

    event = api.list_events()[-1]

    assert event == {
        **head(event, organization),
        "type": "appointment.canceled",
        "data": api.get_appointment(id),
        "previous": event["previous"],
    }
    assert sorted(event["previous"]) == ["meeting_url", "outcome"]
    assert event["previous"]["meeting_url"] == "https://meet.example/1"
    assert event["previous"]["outcome"]["role"] == "APPOINTMENT_BOOKED"


def test_decision_29_staffs_rescheduling_is_an_event_and_recomputes_the_touch_point(api, organization):
    id = api.book(schedule_time=SOON).json()["data"]["id"]

    by_staff(organization, reschedule, id, to=now().replace(year=2091, day=1))

    event, shown = api.list_events()[-1], api.get_appointment(id)
    assert (event["type"], event["data"]) == ("appointment.rescheduled", shown)
    assert event["previous"]["schedule_time"] == SOON
    assert shown["lead"]["next_touch_point_at"] == shown["schedule_time"] != SOON


def test_decision_29_staffs_cancellation_has_the_same_effects(api, organization):
    id = api.book(meeting_url="https://meet.example/1").json()["data"]["id"]

    by_staff(organization, cancel_appointment, id)

    shown = api.get_appointment(id)
    assert (shown["outcome"]["role"], shown["meeting_url"]) == ("CANCELED", None)
    assert types(api) == ["lead.created", "appointment.created", "lead.status_changed", "appointment.canceled"]
    assert api.get_lead(shown["lead"]["id"])["status"]["role"] == "CANCELED"


@pytest.mark.parametrize(("role", "no_show"), [("NO_SHOW", True), ("WON", False)])
def test_decision_21_an_outcome_by_staff_is_an_event_and_no_show_is_set(api, organization, role, no_show):
    id = api.book().json()["data"]["id"]
    status = Status.objects.of(organization).get(role=role)

    by_staff(organization, change_outcome, id, status_id=status.id)

    event, shown = api.list_events()[-1], api.get_appointment(id)
    assert (event["type"], event["data"]) == ("appointment.outcome_changed", shown)
    assert event["previous"]["outcome"]["role"] == "APPOINTMENT_BOOKED"
    assert (shown["outcome"]["role"], shown["no_show"]) == (role, no_show)


def test_decision_30_a_refusal_has_no_event(api):
    assert_error(
        api.patch(f"/api/external/leads/{UNKNOWN}/status", {"status_id": api.get_status("WON")["id"]}),
        404,
        "Resource not found",
    )
    api.book(host_email="nobody@acme.example")
    api.cancel()
    api.submit(source="X")

    assert api.list_events() == []


def test_decision_31_an_event_is_never_rewritten(api):
    api.book()
    before = api.list_events()

    api.cancel()
    api.submit(last_name="Byron")

    assert api.list_events()[: len(before)] == before
