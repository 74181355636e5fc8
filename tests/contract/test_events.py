"""GET /api/external/events, and what event bodies contain (docs/interface.md, W1 to W7)."""

import re
from uuid import UUID

import pytest

from appointments.models import Appointment
from appointments.services import cancel_appointment, edit_appointment, reschedule
from foundation.db.timestamps import now
from leads.merging import merge_leads
from leads.privacy.erasing import request_erasure
from organizations.actors import SYSTEM
from organizations.models import ApiKey
from statuses.models import Status
from tests.client import booking_payload, opt_in_payload
from tests.contract.assertions import assert_error
from tests.factories import owner_actor
from webhooks import feed

# The list contains committed events only, so each test needs real transactions.
pytestmark = pytest.mark.django_db(transaction=True)
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
UTM_FIELDS = ["utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term"]
SOON = "2090-01-05T10:00:00.000Z"


def event_types(api, **query):
    return [event["type"] for event in api.list_events(**query)]


def change_as_staff(organization, service, id, **changes):
    """Call a service of the appointments app as the organization's owner would in the admin."""
    appointment = Appointment.objects.of(organization).get(pk=id)
    service(organization=organization, actor=owner_actor(organization), appointment=appointment, **changes)


def test_events_are_listed_oldest_first(api, other_api):
    """docs/interface.md, W6"""
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
    assert event_types(api) == expected


def test_after_returns_the_events_that_follow_the_named_one(api):
    """docs/interface.md, W6, W7"""
    api.submit()
    api.book()
    ids = [event["id"] for event in api.list_events()]

    assert [event["id"] for event in api.list_events(after=ids[1])] == ids[2:]
    assert api.list_events(after=ids[-1]) == []
    assert [event["id"] for event in api.list_events(after=ids[0], limit=2)] == ids[1:3]


def test_a_page_of_large_events_ends_early_and_says_that_there_are_more(api, monkeypatch):
    """docs/interface.md, W6"""
    for number in range(4):
        api.submit(
            email=f"lead{number}@example.com",
            questions_answers=[{"question": "Q", "answer": "x" * 9000, "position": 1}],
        )
    every = api.list_events()
    monkeypatch.setattr(feed, "MAX_PAGE_BYTES", 15_000)

    pages, after = [], {}
    while not pages or pages[-1]["has_more"]:
        pages.append(api.get("/api/external/events", after).json())
        after = {"after": pages[-1]["data"][-1]["id"]}

    assert len(pages) > 2
    assert [event for page in pages for event in page["data"]] == every
    monkeypatch.setattr(feed, "MAX_PAGE_BYTES", 10)
    assert len(api.list_events()) == 1


def test_events_are_filtered_by_type(api):
    """docs/interface.md, W6"""
    api.submit()
    api.book()

    assert event_types(api, type="opt_in.created") == ["opt_in.created"]
    assert event_types(api, type="appointment.rescheduled") == []


def test_an_event_has_type_timestamp_organization_and_data(api, organization):
    """docs/interface.md, W3"""
    opt_in = api.submit().json()["data"]

    lead_created, opt_in_created = api.list_events()

    assert lead_created == {
        **common_fields(lead_created, organization),
        "type": "lead.created",
        "data": api.get_lead(opt_in["lead_id"]),
    }
    assert opt_in_created == {
        **common_fields(opt_in_created, organization),
        "type": "opt_in.created",
        "data": api.get_opt_in(opt_in["opt_in_id"]),
    }


def common_fields(event, organization):
    """Return the expected fields that every event of an API key has. Id, timestamp and request id are its own."""
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["timestamp"])
    key = ApiKey.objects.of(organization).get()
    actor = {"kind": "API_KEY", "id": key.key_id, "name": key.name}
    own = {name: event[name] for name in ("id", "timestamp", "request_id")}
    return {**own, "organization_id": str(organization.id), "is_test": False, "actor": actor}


def test_the_data_of_an_event_is_the_detail_of_the_object(api, organization, host):
    """docs/interface.md, W3"""
    id = api.book(host_email="hana@acme.example", meeting_url="https://meet.example/1", notes="Hi").json()["data"]["id"]

    lead_created, appointment_created, _ = api.list_events()

    assert appointment_created == {
        **common_fields(appointment_created, organization),
        "type": "appointment.created",
        "data": api.get_appointment(id),
        "attribution": dict.fromkeys(UTM_FIELDS),
    }
    assert lead_created["data"] == api.get_lead(api.get_appointment(id)["lead"]["id"])


def test_the_event_of_a_status_change_has_the_previous_status(api, organization):
    """docs/interface.md, W4"""
    lead = api.submit().json()["data"]["lead_id"]
    api.patch(f"/api/external/leads/{lead}/status", {"status_id": api.get_status("WON")["id"]})

    event = api.list_events()[-1]

    assert event == {
        **common_fields(event, organization),
        "type": "lead.status_changed",
        "data": api.get_lead(lead),
        "previous": event["previous"],
    }
    assert list(event["previous"]) == ["status"]
    assert event["previous"]["status"]["role"] == "NEW_LEAD"


def test_the_event_of_a_cancellation_has_the_previous_outcome_and_meeting_url(api, organization):
    """docs/interface.md, W4"""
    id = api.book(meeting_url="https://meet.example/1").json()["data"]["id"]
    api.cancel()

    event = api.list_events()[-1]

    assert event == {
        **common_fields(event, organization),
        "type": "appointment.canceled",
        "data": api.get_appointment(id),
        "previous": event["previous"],
        "attribution": dict.fromkeys(UTM_FIELDS),
        "details": dict.fromkeys(["canceled_by", "reason", "rescheduled_to"]),
    }
    assert sorted(event["previous"]) == ["meeting_url", "outcome"]
    assert event["previous"]["meeting_url"] == "https://meet.example/1"
    assert event["previous"]["outcome"]["role"] == "APPOINTMENT_BOOKED"


def test_rescheduling_by_staff_records_an_event_and_recomputes_the_touch_point(api, organization):
    """docs/interface.md, A28, L13"""
    id = api.book(schedule_time=SOON).json()["data"]["id"]

    # Day 1, because the date of today need not exist in another year (29 February).
    change_as_staff(organization, reschedule, id, to=now().replace(year=2091, day=1))

    event, appointment = api.list_events()[-1], api.get_appointment(id)
    assert (event["type"], event["data"]) == ("appointment.rescheduled", appointment)
    assert event["previous"]["schedule_time"] == SOON
    assert appointment["lead"]["next_touch_point_at"] == appointment["schedule_time"] != SOON


def test_canceling_by_staff_has_the_same_effects_as_by_the_api(api, organization):
    """docs/interface.md, A27"""
    id = api.book(meeting_url="https://meet.example/1").json()["data"]["id"]

    change_as_staff(organization, cancel_appointment, id)

    appointment = api.get_appointment(id)
    assert (appointment["outcome"]["role"], appointment["meeting_url"]) == ("CANCELED", None)
    assert event_types(api) == ["lead.created", "appointment.created", "lead.status_changed", "appointment.canceled"]
    assert api.get_lead(appointment["lead"]["id"])["status"]["role"] == "CANCELED"


@pytest.mark.parametrize(("role", "no_show"), [("NO_SHOW", True), ("WON", False)])
def test_an_outcome_set_by_staff_records_an_event_and_sets_no_show(api, organization, role, no_show):
    """docs/interface.md, A29, S13"""
    id = api.book().json()["data"]["id"]
    status = Status.objects.of(organization).get(role=role)

    change_as_staff(organization, edit_appointment, id, status_id=status.id)

    event, appointment = api.list_events()[-1], api.get_appointment(id)
    assert (event["type"], event["data"]) == ("appointment.outcome_changed", appointment)
    assert event["previous"]["outcome"]["role"] == "APPOINTMENT_BOOKED"
    assert (appointment["outcome"]["role"], appointment["no_show"]) == (role, no_show)


def test_a_refused_request_records_no_event(api):
    """docs/interface.md, W2"""
    won = api.get_status("WON")["id"]

    assert_error(api.patch(f"/api/external/leads/{UNKNOWN_ID}/status", {"status_id": won}), 404, "Resource not found")
    assert api.book(host_email="nobody@acme.example").status_code == 400
    assert api.cancel().status_code == 404
    assert api.submit(source="X").status_code == 400

    assert api.list_events() == []


def test_an_event_is_never_rewritten(api):
    """docs/interface.md, W2"""
    api.book()
    before = api.list_events()

    api.cancel()
    api.submit(last_name="Byron")

    assert api.list_events()[: len(before)] == before


def test_events_of_an_appointment_have_the_attribution_of_its_booking(api, organization):
    """docs/interface.md, W26"""
    api.submit(email="ada@work.example", traffic={name: f'{name} "x"' for name in UTM_FIELDS})
    id = api.book(lead_email="ada@work.example", notes="Wants a demo").json()["data"]["id"]
    change_as_staff(organization, reschedule, id, to=now().replace(year=2091, day=1))
    # A later opt-in changes nothing of the booking.
    kept = api.submit(traffic={"utm_source": "later"}).json()["data"]["lead_id"]
    api.cancel()
    merged = api.get_appointment(id)["lead"]["id"]
    merge_leads(organization=organization, actor=SYSTEM, keep=UUID(kept), merge=UUID(merged))

    attributions = [(event["type"], event["attribution"]) for event in api.list_events() if "attribution" in event]

    (item,) = api.get_data("/api/external/appointments")
    expected = {name: item[name] for name in UTM_FIELDS}
    assert expected == {name: f'{name} "x"' for name in UTM_FIELDS}
    names = ["appointment.created", "appointment.rescheduled", "appointment.canceled", "appointment.updated"]
    assert attributions == [(name, expected) for name in names]


def test_the_attribution_of_a_lead_without_opt_in_is_null(api):
    """docs/interface.md, W26"""
    id = api.book().json()["data"]["id"]

    lead_event, event = api.list_events()

    assert "attribution" not in lead_event
    assert (event["data"], event["attribution"]) == (api.get_appointment(id), dict.fromkeys(UTM_FIELDS))


def test_erasing_a_lead_erases_attribution_and_request_id_of_its_events(api, organization):
    """docs/interface.md, L20, W3, W26"""
    submitted = api.post(
        "/api/opt-in/submit", opt_in_payload(traffic={"utm_term": "Ada"}), x_request_id="ada@example.com"
    )
    api.post("/api/external/appointments", booking_payload(), x_request_id="ada@example.com")
    lead_id = UUID(submitted.json()["data"]["lead_id"])

    request_erasure(organization=organization, actor=SYSTEM, lead_id=lead_id)

    events = api.list_events()
    fields = ["actor", "data", "id", "is_test", "organization_id", "request_id", "timestamp", "type"]
    assert [(event["type"], event["request_id"], sorted(event)) for event in events] == [
        ("lead.erased", None, fields)
    ] * 5
