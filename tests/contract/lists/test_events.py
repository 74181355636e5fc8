"""GET /api/external/events: its parameters (docs/interface.md, W6 and G21 to G27)."""

from datetime import timedelta
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from appointments.models import Appointment
from appointments.services import reschedule
from foundation.api.fields import parse_timestamp
from foundation.db.timestamps import isoformat_z
from leads.merging import merge_leads
from leads.models import Lead
from leads.services import add_note
from organizations.actors import SYSTEM
from tests.contract.assertions import assert_invalid_fields
from tests.factories import make_api, owner_actor, set_columns
from webhooks.models import Event

PATH = "/api/external/events"
UNKNOWN_ID = "00000000-0000-7000-8000-000000000000"
TYPES = [
    "lead.created",
    "lead.status_changed",
    "opt_in.created",
    "appointment.created",
    "appointment.rescheduled",
    "appointment.canceled",
    "appointment.outcome_changed",
    "webhook.test",
]


@pytest.mark.parametrize("value", ["lead.moved", "LEAD.CREATED", "5", "lead.created,", "lead.created, ,note.created"])
def test_an_unknown_type_is_400_with_the_accepted_values(api, value):
    """docs/interface.md, G27"""
    response = api.get(PATH, {"type": value})

    assert_invalid_fields(response, "type")
    assert all(name in response.json()["message"] for name in TYPES)


@pytest.mark.parametrize("value", ["0", "-1", "101", "1.5", "ten"])
def test_limit_is_an_integer_from_1_to_100(api, value):
    """docs/interface.md, W6"""
    assert_invalid_fields(api.get(PATH, {"limit": value}), "limit")


@pytest.mark.parametrize("value", [UNKNOWN_ID, "x", "5"])
def test_a_malformed_or_unknown_after_is_400(api, value):
    """docs/interface.md, G21"""
    assert_invalid_fields(api.get(PATH, {"after": value}), "after")


@pytest.mark.django_db(transaction=True)
def test_a_repeated_type_is_the_union(api):
    """docs/interface.md, G26, W6"""
    api.book()

    events = api.list_events(type=["appointment.created", "lead.created"])

    assert [event["type"] for event in events] == ["lead.created", "appointment.created"]
    assert [event["type"] for event in api.list_events(type=["appointment.created", ""])] == ["appointment.created"]
    assert [event["type"] for event in api.list_events(type="appointment.created, lead.created ")] == [
        "lead.created",
        "appointment.created",
    ]


def follow(api, **query):
    """Return the whole response."""
    response = api.get(PATH, query)
    assert response.status_code == 200, response.content
    return response.json()


@pytest.mark.django_db(transaction=True)
def test_after_latest_returns_no_event_and_the_id_to_continue_with(api, other_api):
    """docs/interface.md, W27"""
    nothing = follow(api, after="latest")
    api.book()
    latest = api.list_events()[-1]["id"]
    other_api.book()

    start = follow(api, after="latest", type="lead.created", limit=1)

    assert (nothing["data"], nothing["has_more"], nothing["last_event_id"]) == ([], False, None)
    assert (start["data"], start["has_more"], start["last_event_id"]) == ([], False, latest)
    api.cancel()
    assert [event["type"] for event in follow(api, after=start["last_event_id"])["data"]] == [
        "lead.status_changed",
        "appointment.canceled",
    ]
    assert_invalid_fields(api.get(PATH, {"after": "LATEST"}), "after")


@pytest.mark.django_db(transaction=True)
def test_last_event_id_is_the_id_to_continue_with(api):
    """docs/interface.md, W27"""
    assert follow(api)["last_event_id"] is None
    api.book()
    first, last = (event["id"] for event in api.list_events())

    pages = [follow(api, limit=1), follow(api, limit=1, after=first), follow(api, after=last)]

    assert [page["last_event_id"] for page in pages] == [first, last, last]
    assert follow(api, after=first, type="webhook.test")["last_event_id"] == first


@pytest.fixture
def dated_events(api, organization):
    """Submit four opt-ins an hour apart; return the ids and the times of their events."""
    start = parse_timestamp("2027-01-05T22:00:00Z")
    dated = []
    for number in range(4):
        id = api.submit(email=f"lead{number}@example.com").json()["data"]["opt_in_id"]
        time = start + timedelta(hours=number)
        *earlier, opt_in = api.list_events(**({"after": dated[-1][0]} if dated else {}))
        assert opt_in["data"]["id"] == id
        for event in [*earlier, opt_in]:
            set_columns(Event, organization, event["id"], created_at=time)
        dated.append((opt_in["id"], isoformat_z(time)))
    return dated


@pytest.mark.django_db(transaction=True)
def test_events_are_filtered_by_their_time(api, dated_events):
    """docs/interface.md, W28, G29"""
    (first, _), (second, time), (third, later), (last, _) = dated_events

    def found(**query):
        return [event["id"] for event in api.list_events(type="opt_in.created", **query)]

    assert found(created_from=time) == [second, third, last]
    assert found(created_to=time) == [first, second]
    assert found(created_from=time, created_to=later) == [second, third]
    assert found(created_from="2027-01-06") == [third, last]
    assert found(created_to="2027-01-05") == [first, second]
    assert found(created_from=time, after=second, limit=1) == [third]
    assert found(created_from=later, created_to=time) == []
    assert found(created_from="0001-01-01", created_to="9999-12-31") == [first, second, third, last]
    assert found(created_from="9999-12-31") == found(created_to="0001-01-01") == []


@pytest.mark.django_db(transaction=True)
def test_events_of_one_time_are_all_found_in_whatever_order_their_transactions_began(api, organization, dated_events):
    """docs/interface.md, W28"""
    (first, time), (second, _), *_ = dated_events
    at = parse_timestamp(time)
    # Nine minutes: the second event's transaction began before the time of the first.
    set_columns(Event, organization, first, created_at=at + timedelta(minutes=9))
    set_columns(Event, organization, second, created_at=at)

    def found(**query):
        return [event["id"] for event in api.list_events(type="opt_in.created", **query)]

    assert found(created_to=time) == [second]
    assert found(created_from=isoformat_z(at + timedelta(minutes=9)))[0] == first


@pytest.mark.parametrize("name", ["created_from", "created_to"])
def test_an_invalid_time_is_400(api, name):
    """docs/interface.md, G29, W28"""
    assert_invalid_fields(api.get(PATH, {name: "soon"}), name)


@pytest.mark.django_db(transaction=True)
def test_events_are_filtered_by_lead_with_all_that_belongs_to_it(api, organization):
    """docs/interface.md, W29"""
    lead_id = api.submit().json()["data"]["lead_id"]
    id = api.book(notes="Hello").json()["data"]["id"]
    lead = Lead.objects.of(organization).get(pk=lead_id)
    add_note(organization=organization, actor=SYSTEM, lead=lead, text="Called", id=uuid7())
    api.book(external_reference="other", lead_email="other@example.com", notes="Hello")

    events = api.list_events(lead_id=lead_id)

    assert [event["type"] for event in events] == [
        "lead.created",
        "opt_in.created",
        "lead.status_changed",
        "appointment.created",
        "note.created",
        "lead.note_created",
    ]
    assert api.list_events(lead_id=lead_id.upper(), type="note.created") == [events[4]]
    assert api.list_events(lead_id=lead_id, after=events[1]["id"], limit=2) == events[2:4]
    assert api.list_events(appointment_id=id) == events[3:5]
    assert api.list_events(appointment_id=id, lead_id=lead_id) == events[3:5]


@pytest.mark.django_db(transaction=True)
def test_later_events_of_an_appointment_are_found_by_it(api, organization):
    """docs/interface.md, W29"""
    id = api.book().json()["data"]["id"]
    reschedule(
        organization=organization,
        actor=owner_actor(organization),
        appointment=Appointment.objects.of(organization).get(pk=id),
        to=parse_timestamp("2090-01-05T10:00:00Z"),
    )
    api.cancel(notes="Ill")

    assert [event["type"] for event in api.list_events(appointment_id=id)] == [
        "appointment.created",
        "appointment.rescheduled",
        "appointment.canceled",
        "note.created",
    ]


@pytest.mark.django_db(transaction=True)
def test_events_of_a_merged_lead_are_found_by_either_id(api, organization):
    """docs/interface.md, L22, W29"""
    kept, merged = (api.submit(email=f"{name}@example.com").json()["data"]["lead_id"] for name in ("kept", "merged"))
    merge_leads(organization=organization, actor=SYSTEM, keep=UUID(kept), merge=UUID(merged))

    events = api.list_events(lead_id=kept)

    assert [event["type"] for event in events] == [*["lead.created", "opt_in.created"] * 2, "lead.merged"]
    assert api.list_events(lead_id=merged) == events


@pytest.mark.parametrize("name", ["lead_id", "appointment_id"])
def test_a_malformed_or_unknown_row_is_400(api, other_organization, name):
    """docs/interface.md, G28, W29"""
    other_api = make_api(other_organization)
    other_id = other_api.book().json()["data"]["id"]
    other = other_id if name == "appointment_id" else other_api.get_appointment(other_id)["lead"]["id"]

    responses = [api.get(PATH, {name: value}) for value in (UNKNOWN_ID, other)]

    assert responses[0].json() == responses[1].json()
    for response in [*responses, api.get(PATH, {name: "x"}), api.get(PATH, {name: UNKNOWN_ID, "after": "latest"})]:
        assert_invalid_fields(response, name)
