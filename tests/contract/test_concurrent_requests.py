"""Concurrent requests, with real threads and connections (docs/interface.md, A31)."""

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from appointments.models import Appointment
from appointments.services import reschedule
from leads.models import LeadStatusChange
from organizations.authentication import KEY_QUERY
from tests.client import ApiClient
from tests.contract.concurrency import THREADS, field_values, run_concurrently, status_codes
from tests.factories import make_member, owner_actor, summary_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_booking_one_reference_100_times_creates_one_appointment(api, organization, host, other_organization):
    """docs/interface.md, A14, A15, A31"""
    responses = run_concurrently(api.key, *[lambda api: api.book(host_email="hana@acme.example")] * 100)

    assert status_codes(responses) == {201: 1, 200: 99}
    assert len(field_values(responses, "id")) == 1
    events = ["appointment.created", "lead.created"]
    notifications = [("CALL_BOOKED", "hana@acme.example")]
    assert summary_of(organization) == {
        "appointments": 1,
        "leads": 1,
        "opt_ins": 0,
        "event_types": 1,
        "events": events,
        "notifications": notifications,
    }
    assert [event["type"] for event in api.list_events()] == ["lead.created", "appointment.created"]


def test_booking_one_reference_at_two_times_creates_one_appointment_and_conflicts(api, organization):
    """docs/interface.md, A16, A31"""
    times = ["2027-01-05T10:00:00Z", "2027-01-06T10:00:00Z"]
    requests = [lambda api, time=time: (time, api.book(schedule_time=time)) for _ in range(50) for time in times]

    results = run_concurrently(api.key, *requests)

    # Which of the two times comes first is left to chance, so the list tells.
    (appointment,) = api.get_data("/api/external/appointments")
    booked_time = next(time for time in times if appointment["schedule_time"] == time.replace("Z", ".000Z"))
    assert status_codes(response for time, response in results if time == booked_time) == {201: 1, 200: 49}
    assert status_codes(response for time, response in results if time != booked_time) == {409: 50}
    assert summary_of(organization)["events"] == ["appointment.created", "lead.created"]


def test_a_retry_of_the_first_time_is_200_while_staff_move_the_appointment(api, organization):
    """docs/interface.md, A15, A16"""
    appointment = Appointment.objects.of(organization).get(pk=api.book().json()["data"]["id"])
    actor, first_day = owner_actor(organization), datetime(2028, 1, 1, tzinfo=UTC)

    def move(days):
        to = first_day + timedelta(days=days)
        reschedule(organization=organization, actor=actor, appointment=appointment, to=to)

    moves = [lambda _, days=days: move(days) for days in range(1, 11)]
    responses = run_concurrently(api.key, *moves, *[lambda api: api.book()] * 54)

    assert status_codes(response for response in responses if response) == {200: 54}
    assert summary_of(organization)["events"].count("appointment.rescheduled") == 10


def test_100_bookings_with_one_new_email_and_event_type_create_one_of_each(api, organization):
    """docs/interface.md, L1, A11, A31"""
    emails = ["new@example.com", "NEW@example.com", "New@Example.com"]
    names = ["Caf\u00e9", "CAF\u00c9", "cafe\u0301", "Cafe\u0301"]
    requests = [
        lambda api, n=n: api.book(external_reference=f"ref-{n}", lead_email=emails[n % 3], event_type_name=names[n % 4])
        for n in range(100)
    ]

    responses = run_concurrently(api.key, *requests)

    summary = summary_of(organization)
    assert status_codes(responses) == {201: 100}
    assert len(field_values(responses, "id")) == 100
    assert [summary[name] for name in ["appointments", "leads", "event_types"]] == [100, 1, 1]
    assert Counter(summary["events"]) == {"appointment.created": 100, "lead.created": 1}


def test_submitting_one_reference_and_source_100_times_creates_one_opt_in(api, organization):
    """docs/interface.md, O9"""
    responses = run_concurrently(api.key, *[lambda api: api.submit(external_reference="form-1")] * 100)

    assert status_codes(responses) == {201: 1, 200: 99}
    assert (len(field_values(responses, "opt_in_id")), len(field_values(responses, "lead_id"))) == (1, 1)
    assert Counter(response.json()["data"]["is_new_lead"] for response in responses) == {True: 1, False: 99}
    assert summary_of(organization)["events"] == ["lead.created", "opt_in.created"]


@pytest.mark.parametrize(
    "emails",
    [["new@example.com", "NEW@example.com"], ["new@m\u00fcnchen.example", "new@xn--mnchen-3ya.example"]],
    ids=["letter case", "forms of a domain"],
)
def test_48_submissions_with_one_new_email_create_one_lead(api, organization, emails):
    """docs/interface.md, L1, O7, O8"""
    requests = [
        lambda api, n=n: api.submit(email=emails[n % 2], traffic={"utm_source": f"s{n % 5}"}) for n in range(48)
    ]

    responses = run_concurrently(api.key, *requests)

    summary = summary_of(organization)
    assert status_codes(responses) == {201: 1, 200: 47}
    assert [summary["leads"], summary["opt_ins"]] == [1, 48]
    events = Counter(summary["events"])
    # The last source follows each submission that names another one than the last.
    assert events.pop("lead.updated") <= 47
    assert events == {"lead.created": 1, "opt_in.created": 48}


def test_50_cancellations_of_one_appointment_record_one_event(api, organization):
    """docs/interface.md, A24"""
    api.book()

    responses = run_concurrently(api.key, *[lambda api: api.cancel(notes="ill")] * 50)

    summary = summary_of(organization)
    assert status_codes(responses) == {200: 50}
    created = ["appointment.created", "lead.created"]
    assert summary["events"] == ["appointment.canceled", *created, "lead.status_changed", "note.created"]
    assert summary["notifications"] == [("CALL_BOOKED", "owner@acme.example"), ("CALL_CANCELED", "owner@acme.example")]


def test_concurrent_status_updates_of_one_lead_are_stored_as_one_sequence(api, organization):
    """docs/interface.md, L15, S12"""
    statuses = [api.get_status(role)["id"] for role in ["WON", "LOST", "FOLLOW_UP"]]
    lead_id = api.submit().json()["data"]["lead_id"]
    requests = [
        lambda api, n=n: api.patch(f"/api/external/leads/{lead_id}/status", {"status_id": statuses[n % 3]})
        for n in range(48)
    ]

    responses = run_concurrently(api.key, *requests)

    changes = [change for change in LeadStatusChange.objects.of(organization).order_by("id") if change.from_status_id]
    assert status_codes(responses) == {200: 48}
    # Each change starts from the status that the previous one set.
    assert all(before.to_status_id == after.from_status_id for before, after in pairwise(changes))
    assert summary_of(organization)["events"].count("lead.status_changed") == len(changes)
    assert api.get_lead(lead_id)["status"]["id"] == str(changes[-1].to_status_id)


def test_concurrent_bookings_in_two_organizations_are_independent(api, organization, other_organization, other_api):
    """docs/interface.md, G22"""
    keys = [api.key, other_api.key]

    responses = run_concurrently(None, *[lambda _, key=key: ApiClient(key).book() for _ in range(16) for key in keys])

    assert status_codes(responses) == {201: 2, 200: 30}
    assert [summary_of(tenant)["appointments"] for tenant in (organization, other_organization)] == [1, 1]


def test_different_writes_to_one_lead_cause_no_server_error(api, organization):
    """docs/interface.md, G2"""
    make_member(organization, "hana@acme.example")
    won = api.get_status("WON")["id"]
    lead_id = api.submit().json()["data"]["lead_id"]

    def build_request(n):
        operations = [
            lambda api: api.book(external_reference=f"ref-{n % 7}", host_email="hana@acme.example"),
            lambda api: api.cancel(external_reference=f"ref-{n % 5}"),
            lambda api: api.submit(traffic={"utm_source": f"s{n % 3}"}),
            lambda api: api.patch(f"/api/external/leads/{lead_id}/status", {"status_id": won}),
        ]
        return operations[n % 4]

    responses = run_concurrently(api.key, *[build_request(n) for n in range(64)])

    assert set(status_codes(responses)) <= {200, 201, 404}
    assert summary_of(organization)["leads"] == 1


def test_reading_events_during_writes_misses_none(api, organization):
    """docs/interface.md, W7"""
    read_ids = []

    def read_events(client):
        events = client.list_events(limit="100", **({"after": read_ids[-1]} if read_ids else {}))
        read_ids.extend(event["id"] for event in events)

    writes = [lambda api, n=n: api.submit(external_reference=f"form-{n}") for n in range(45)]
    requests = [request or read_events for request in interleave_reads(writes)]

    run_concurrently(api.key, *requests)
    read_events(api)

    # 45 opt-ins and the one lead they share.
    assert len(read_ids) == len(set(read_ids)) == 46


def interleave_reads(writes):
    """Yield the writes, with None for a read as the first of each group of THREADS requests.

    All reads run in one thread, in order, because `run_concurrently` gives a thread every THREADS-th request.
    """
    for position, write in enumerate(writes):
        if position % (THREADS - 1) == 0:
            yield None
        yield write


class SlowText(str):
    """A text that takes its time to be joined with another one."""

    def __add__(self, other):
        time.sleep(0.2)
        return super().__add__(other)


def test_the_first_requests_of_a_process_accept_the_key_even_if_they_arrive_at_once(api, monkeypatch):
    """docs/interface.md, K1"""
    vars(KEY_QUERY).pop("statement", None)  # as in a process that has just started
    monkeypatch.setattr(KEY_QUERY, "owner_functions", SlowText(KEY_QUERY.owner_functions))

    def request(api):
        api.get("/readyz")  # after which the connection has the scope of a request without a tenant
        return api.get("/api/external/statuses")

    responses = run_concurrently(api.key, *[request] * THREADS)

    assert status_codes(responses) == {200: THREADS}
