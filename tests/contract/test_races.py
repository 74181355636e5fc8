"""Many requests at once, with real threads and connections: what the database keeps single (interface 4.1, 4.2, 4.5; decisions 13, 23, 25)."""

from collections import Counter
from itertools import pairwise

import pytest

from leads.models import LeadStatusChange
from tests.client import ApiClient
from tests.contract.concurrency import THREADS, field_values, run_concurrently, status_codes
from tests.factories import make_api, make_member, summary_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_rule_1_and_2_one_reference_100_times_is_one_appointment(api, organization, host, other_organization):
    answers = run_concurrently(api.key, *[lambda api: api.book(host_email="hana@acme.example")] * 100)

    assert status_codes(answers) == {201: 1, 200: 99}
    assert len(field_values(answers, "id")) == 1
    events = ["appointment.created", "lead.created"]
    mails = [("CALL_BOOKED", "hana@acme.example")]
    assert summary_of(organization) == {
        "appointments": 1,
        "leads": 1,
        "opt_ins": 0,
        "event_types": 1,
        "events": events,
        "notifications": mails,
    }
    assert [event["type"] for event in api.list_events()] == ["lead.created", "appointment.created"]


def test_rule_3_one_reference_at_two_times_is_booked_at_one_of_them(api, organization):
    times = ["2027-01-05T10:00:00Z", "2027-01-06T10:00:00Z"]
    requests = [lambda api, time=time: (time, api.book(schedule_time=time)) for _ in range(50) for time in times]

    pairs = run_concurrently(api.key, *requests)

    (shown,) = api.get_data("/api/external/appointments")
    won = next(time for time in times if shown["schedule_time"] == time.replace("Z", ".000Z"))
    assert status_codes(answer for time, answer in pairs if time == won) == {201: 1, 200: 49}
    assert status_codes(answer for time, answer in pairs if time != won) == {409: 50}
    assert summary_of(organization)["events"] == ["appointment.created", "lead.created"]


def test_decisions_13_and_25_100_references_share_one_new_lead_and_event_type(api, organization):
    emails = ["new@example.com", "NEW@example.com", "New@Example.com"]
    names = ["Strategy call", "STRATEGY CALL", "strategy call", "Strategy Call"]
    requests = [
        lambda api, n=n: api.book(external_reference=f"ref-{n}", lead_email=emails[n % 3], event_type_name=names[n % 4])
        for n in range(100)
    ]

    answers = run_concurrently(api.key, *requests)

    after = summary_of(organization)
    assert status_codes(answers) == {201: 100}
    assert len(field_values(answers, "id")) == 100
    assert [after[name] for name in ["appointments", "leads", "event_types"]] == [100, 1, 1]
    assert Counter(after["events"]) == {"appointment.created": 100, "lead.created": 1}


def test_submit_rule_3_one_reference_and_source_100_times_is_one_opt_in(api, organization):
    answers = run_concurrently(api.key, *[lambda api: api.submit(external_reference="form-1")] * 100)

    assert status_codes(answers) == {201: 1, 200: 99}
    assert (len(field_values(answers, "opt_in_id")), len(field_values(answers, "lead_id"))) == (1, 1)
    assert Counter(answer.json()["data"]["is_new_lead"] for answer in answers) == {True: 1, False: 99}
    assert summary_of(organization)["events"] == ["lead.created", "opt_in.created"]


def test_submit_48_opt_ins_of_one_new_email_make_one_lead(api, organization):
    requests = [
        lambda api, n=n: api.submit(
            email=["new@example.com", "NEW@example.com"][n % 2], traffic={"utm_source": f"s{n % 5}"}
        )
        for n in range(48)
    ]

    answers = run_concurrently(api.key, *requests)

    after = summary_of(organization)
    assert status_codes(answers) == {201: 1, 200: 47}
    assert [after["leads"], after["opt_ins"]] == [1, 48]
    assert Counter(after["events"]) == {"lead.created": 1, "opt_in.created": 48}


def test_decision_28_cancels_at_once_cancel_once(api, organization):
    api.book()

    answers = run_concurrently(api.key, *[lambda api: api.cancel(notes="ill")] * 50)

    after = summary_of(organization)
    assert status_codes(answers) == {200: 50}
    assert after["events"] == ["appointment.canceled", "appointment.created", "lead.created", "lead.status_changed"]
    assert after["notifications"] == [("CALL_BOOKED", "owner@acme.example"), ("CALL_CANCELED", "owner@acme.example")]


def test_decision_18_a_lead_moved_from_many_sides_is_found_by_all(api, organization):
    statuses = [api.get_status(role)["id"] for role in ["WON", "LOST", "FOLLOW_UP"]]
    lead = api.submit().json()["data"]["lead_id"]
    requests = [
        lambda api, n=n: api.patch(f"/api/external/leads/{lead}/status", {"status_id": statuses[n % 3]})
        for n in range(48)
    ]

    answers = run_concurrently(api.key, *requests)

    moves = [change for change in LeadStatusChange.objects.of(organization).order_by("id") if change.from_status_id]
    assert status_codes(answers) == {200: 48}
    assert all(before.to_status_id == after.from_status_id for before, after in pairwise(moves))
    assert summary_of(organization)["events"].count("lead.status_changed") == len(moves)
    assert api.get_lead(lead)["status"]["id"] == str(moves[-1].to_status_id)


def test_two_organizations_at_once_share_nothing(api, organization, other_organization, other_api):
    keys = [api.key, other_api.key]

    answers = run_concurrently(None, *[lambda _, key=key: ApiClient(key).book() for _ in range(16) for key in keys])

    assert status_codes(answers) == {201: 2, 200: 30}
    assert [summary_of(own)["appointments"] for own in (organization, other_organization)] == [1, 1]


def test_bookings_cancels_and_opt_ins_of_one_lead_at_once_are_never_a_server_error(api, organization):
    make_member(organization, "hana@acme.example")
    won = api.get_status("WON")["id"]
    lead = api.submit().json()["data"]["lead_id"]

    def act(n):
        acts = [
            lambda api: api.book(external_reference=f"ref-{n % 7}", host_email="hana@acme.example"),
            lambda api: api.cancel(external_reference=f"ref-{n % 5}"),
            lambda api: api.submit(traffic={"utm_source": f"s{n % 3}"}),
            lambda api: api.patch(f"/api/external/leads/{lead}/status", {"status_id": won}),
        ]
        return acts[n % 4]

    answers = run_concurrently(api.key, *[act(n) for n in range(64)])

    assert set(status_codes(answers)) <= {200, 201, 404}
    assert summary_of(organization)["leads"] == 1


def test_an_event_feed_read_while_others_write_misses_nothing(api, organization):
    make_api(organization)
    seen = []

    def read(reader):
        rows = reader.list_events(limit="100", **({"after": seen[-1]} if seen else {}))
        seen.extend(row["id"] for row in rows)

    writes = [lambda api, n=n: api.submit(external_reference=f"form-{n}") for n in range(45)]
    requests = [request if at % THREADS else read for at, request in enumerate(interleave(writes))]
    run_concurrently(api.key, *requests)
    read(api)

    assert len(seen) == len(set(seen)) == 46


def interleave(writes):
    """The writes, with a place for a reader as the first of each sixteen; readers share one thread."""
    for at, write in enumerate(writes):
        if at % (THREADS - 1) == 0:
            yield None
        yield write
