"""Syncs of schedulers and form builders (docs/interface.md, A67 to A75 and O14 to O16)."""

import json
from datetime import UTC, datetime
from itertools import permutations
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import time_machine

from appointments import reports
from appointments.models import Appointment, FormerReference
from appointments.services import reschedule
from foundation.db.timestamps import isoformat_z, now
from optins.models import OptIn
from organizations.models import Membership, Organization
from statuses.models import Status
from tests.client import ApiClient, sync_payload, synced_opt_in_payload
from tests.contract.concurrency import THREADS, run_concurrently, status_codes
from tests.factories import (
    deactivate,
    events_of,
    make_api,
    make_member,
    make_status,
    notifications_of,
    owner_actor,
    snapshot_of,
)
from webhooks.models import Event

SYNC = "/api/external/sync/SCHEDULER_A/appointments/"
FORM = "/api/external/sync/FORMBUILDER_A/opt-ins/"
LATER = "2027-01-06T10:00:00.000Z"


ENDING = "2026-03-02T10:00:00Z"


def at(minute: int) -> str:
    return f"2026-12-01T10:{minute:02d}:00Z"


def sync(api: ApiClient, reference: str = "b-1", **fields: Any) -> Any:
    return api.put(SYNC + reference, sync_payload(**fields))


def state(api: ApiClient) -> list[tuple[Any, ...]]:
    """Return what the list shows of each appointment, without ids and times of storage."""
    return [
        (item["external_reference"], item["schedule_time"], item["outcome"]["role"], item["no_show"])
        for item in api.get_data("/api/external/appointments")
    ]


def test_an_unknown_reference_creates_the_appointment(
    api: ApiClient, organization: Organization, other_organization: Organization
) -> None:
    before = snapshot_of(other_organization)

    response = sync(api, duration_minutes=30, traffic={"utm_source": "letter"}, meeting_url="https://meet.example/1")

    assert response.status_code == 201
    appointment = Appointment.objects.of(organization).get()
    assert response.json() == {
        "status": "success",
        "message": "Appointment created",
        "data": {"id": str(appointment.pk), "applied": True},
    }
    shown = api.get_appointment(str(appointment.pk))
    assert (shown["source"], shown["external_reference"]) == ("SCHEDULER_A", "b-1")
    assert (shown["appointment_type"], shown["meeting_url"]) == ("Strategy call", "https://meet.example/1")
    assert (shown["lead"]["email"], appointment.duration_minutes) == ("ada@example.com", 30)
    assert (appointment.utm_source, notifications_of(organization)) == ("letter", [])
    assert events_of(organization) == ["appointment.created", "lead.created"]
    assert snapshot_of(other_organization) == before


def test_the_reference_may_have_any_other_characters(api: ApiClient) -> None:
    sync(api, "evt%3A1%20%C3%A9%23")

    assert state(api)[0][0] == "evt:1 é#"


def test_a_repeat_changes_nothing(api: ApiClient, organization: Organization) -> None:
    id = sync(api, state="CANCELED").json()["data"]["id"]
    before = snapshot_of(organization)

    response = sync(api, state="CANCELED")

    assert (response.status_code, response.json()["data"]) == (200, {"id": id, "applied": True})
    assert response.json()["message"] == "Appointment synced"
    assert snapshot_of(organization) == before


@pytest.mark.parametrize("state", ["BOOKED", "CANCELED", "NO_SHOW"])
def test_a_repeat_changes_nothing_that_staff_have_changed_since(
    api: ApiClient, organization: Organization, host: Membership, state: str
) -> None:
    """docs/interface.md, A69"""
    daniel = make_member(organization, "daniel@acme.example")
    report = {"host_email": host.user.email, "meeting_url": "https://meet.example/1", "notify": True}
    sync(api, changed_at=at(1), **report)
    id = sync(api, changed_at=at(2), state=state, **report).json()["data"]["id"]
    appointment = Appointment.objects.of(organization).get(pk=id)
    moved = {"organization": organization, "actor": owner_actor(organization), "appointment": appointment}
    reschedule(**moved, to=datetime(2031, 1, 8, tzinfo=UTC), host=daniel)
    api.patch(f"/api/external/appointments/{id}", {"meeting_url": "https://meet.example/2"})
    before = snapshot_of(organization)

    repeat = sync(api, changed_at=at(2), state=state, **report)
    after = snapshot_of(organization)
    later = sync(api, changed_at=at(3), state=state, **report)

    assert (repeat.status_code, repeat.json()["data"]) == (200, {"id": id, "applied": True})
    assert after == before
    assert later.json()["data"]["applied"]
    assert snapshot_of(organization) != before


@pytest.mark.parametrize("states", [["BOOKED"], ["CANCELED"], ["BOOKED", "CANCELED"]])
def test_a_no_show_that_is_withdrawn_leaves_the_lead_as_any_other_order_does(
    api: ApiClient, organization: Organization, states: list[str]
) -> None:
    """docs/interface.md, A69 and A70"""
    requests: list[dict[str, Any]] = [
        {"changed_at": at(hour), "state": state, "schedule_time": ENDING}
        for hour, state in enumerate(["NO_SHOW", *states], 2)
    ]
    orders = list(permutations(requests))
    for number, order in enumerate(orders):
        lead = {"email": f"lead{number}@example.com"}
        with time_machine.travel(ENDING):
            sync(api, f"b-{number}", changed_at=at(1), schedule_time=ENDING, lead=lead)
        for fields in order:
            sync(api, f"b-{number}", lead=lead, **fields)

    role = "CANCELED" if states[-1] == "CANCELED" else "APPOINTMENT_BOOKED"
    assert [row["status"]["role"] for row in api.get_data("/api/external/leads")] == [role] * len(orders)
    assert [row["outcome"]["role"] for row in api.get_data("/api/external/appointments")] == [role] * len(orders)


def test_a_scheduler_books_a_canceled_call_with_another_outcome_since_only_by_its_own_booking(
    api: ApiClient, organization: Organization
) -> None:
    """docs/interface.md, A28 and L13"""
    link = {"meeting_url": "https://meet.example/1"}
    id = sync(api, changed_at=at(1), **link).json()["data"]["id"]
    found = []
    for report in ({"changed_at": at(1), **link}, {"changed_at": at(2), "state": "CANCELED", "schedule_time": LATER}):
        for role in ("CANCELED", "FOLLOW_UP"):
            api.patch(f"/api/external/appointments/{id}", {"outcome_role": role})
        sync(api, **report)
        found.append(Appointment.objects.of(organization).select_related("lead").get())
    sync(api, changed_at=at(3), schedule_time=LATER, **link)
    booked = Appointment.objects.of(organization).select_related("lead").get()

    assert [(row.is_called_off, row.meeting_url, row.lead.next_touch_point_at) for row in found] == [
        (True, None, None),
        (True, None, None),
    ]
    assert (booked.is_called_off, booked.meeting_url) == (False, link["meeting_url"])
    assert isoformat_z(booked.lead.next_touch_point_at) == LATER


def test_a_repeat_does_not_cancel_again_what_staff_have_booked_again(api: ApiClient) -> None:
    id = sync(api, "b-1", changed_at=at(1)).json()["data"]["id"]
    sync(api, "b-3", changed_at=at(3), previous_reference="b-2")
    sync(api, "b-2", changed_at=at(2), previous_reference="b-1")
    canceled = api.get_appointment(id)["outcome"]["role"]
    api.patch(f"/api/external/appointments/{id}", {"outcome_role": "APPOINTMENT_BOOKED"})

    sync(api, "b-2", changed_at=at(2), previous_reference="b-1")

    assert (canceled, api.get_appointment(id)["outcome"]["role"]) == ("CANCELED", "APPOINTMENT_BOOKED")


@pytest.mark.parametrize("role", ["CANCELED", "NO_SHOW"])
def test_a_new_reference_at_the_same_time_books_again_what_staff_have_ended(
    api: ApiClient, host: Membership, role: str
) -> None:
    """docs/interface.md, A72"""
    report = {"host_email": host.user.email, "notify": True}
    id = sync(api, "b-1", changed_at=at(1), **report).json()["data"]["id"]
    api.patch(f"/api/external/appointments/{id}", {"outcome_role": role})

    sync(api, "b-2", changed_at=at(2), previous_reference="b-1", meeting_url="https://meet.example/2", **report)

    shown = api.get_appointment(id)
    assert (shown["external_reference"], shown["meeting_url"]) == ("b-2", "https://meet.example/2")
    assert shown["outcome"]["role"] == "APPOINTMENT_BOOKED"
    assert api.get_data("/api/external/leads")[0]["status"]["role"] == "APPOINTMENT_BOOKED"


def test_an_older_state_is_not_applied(api: ApiClient, organization: Organization) -> None:
    id = sync(api, changed_at=at(5), state="CANCELED").json()["data"]["id"]
    before = snapshot_of(organization)

    response = sync(api, changed_at=at(4), schedule_time=LATER)

    assert (response.status_code, response.json()["data"]) == (200, {"id": id, "applied": False})
    assert snapshot_of(organization) == before


def test_a_scope_is_required(organization: Organization) -> None:
    api = make_api(organization, scopes=["read", "write"])

    responses = [sync(api), api.put(FORM + "f-1", synced_opt_in_payload())]

    assert [response.status_code for response in responses] == [403, 403]
    assert events_of(organization) == []


@pytest.mark.parametrize(
    ("path", "fields", "name"),
    [
        ("/api/external/sync/MANUAL/appointments/b-1", {}, "source"),
        (SYNC + "x" * 256, {}, "external_reference"),
        (SYNC + "a%00b", {}, "external_reference"),
        (SYNC + "b-1", {"changed_at": None}, "changed_at"),
        (SYNC + "b-1", {"state": "WON"}, "state"),
        (SYNC + "b-1", {"lead": {"first_name": "Ada"}}, "lead.email"),
        (SYNC + "b-1", {"event_type": ""}, "event_type"),
        (SYNC + "b-1", {"host_email": "nobody@example.com"}, "host_email"),
    ],
)
def test_a_bad_value_is_named(
    api: ApiClient, organization: Organization, path: str, fields: dict[str, Any], name: str
) -> None:
    before = snapshot_of(organization)

    response = api.put(path, sync_payload(**fields))

    assert (response.status_code, list(response.json()["errors"])) == (400, [name])
    assert snapshot_of(organization) == before


BOOKED = ("b-1", {"changed_at": at(1)})
CANCELED = ("b-1", {"changed_at": at(3), "state": "CANCELED", "canceled_by": "LEAD", "reason": "Moved"})
MOVED = ("b-2", {"changed_at": at(2), "schedule_time": LATER, "previous_reference": "b-1"})


@pytest.mark.parametrize("order", list(permutations([BOOKED, CANCELED, MOVED])))
def test_the_order_of_requests_does_not_matter(
    api: ApiClient, organization: Organization, order: list[tuple[str, dict[str, Any]]]
) -> None:
    ids = {sync(api, reference, **fields).json()["data"]["id"] for reference, fields in order}

    assert len(ids) == 1
    assert state(api) == [("b-2", LATER, "APPOINTMENT_BOOKED", False)]
    assert [row.external_reference for row in FormerReference.objects.of(organization)] == ["b-1"]
    lead = api.get_data("/api/external/leads")[0]
    assert (lead["status"]["role"], lead["next_touch_point_at"]) == ("APPOINTMENT_BOOKED", LATER)


@pytest.mark.parametrize(
    ("time", "role"), [(LATER, "CANCELED"), ("2024-05-01T10:00:00Z", "NEW_LEAD")], ids=["to come", "over"]
)
def test_a_chain_of_moves_that_ends_canceled_is_the_same_in_every_order(api: ApiClient, time: str, role: str) -> None:
    """docs/interface.md, A71; the lead of a call that was over when it came keeps its status (A32)."""
    for number, order in enumerate(permutations("ABCX")):
        references = {name: f"{number}-{name}" for name in "ABC"}
        lead = {"email": f"lead{number}@example.com"}
        chain: dict[str, tuple[str, dict[str, Any]]] = {
            "A": (references["A"], {"changed_at": at(1)}),
            "B": (references["B"], {"changed_at": at(2), "previous_reference": references["A"]}),
            "C": (references["C"], {"changed_at": at(3), "previous_reference": references["B"]}),
            "X": (
                references["C"],
                {"changed_at": at(4), "previous_reference": references["B"], "state": "CANCELED"},
            ),
        }
        for name in order:
            reference, fields = chain[name]
            sync(api, reference, lead=lead, schedule_time=time, **fields)

        booked = api.get_data("/api/external/appointments", {"external_reference": references["C"]})
        assert [row["outcome"]["role"] for row in booked] == ["CANCELED"], order
        (stored,) = api.get_data("/api/external/leads", {"email": lead["email"]})
        assert (stored["status"]["role"], stored["next_touch_point_at"]) == (role, None), order


@pytest.mark.parametrize("state", ["NO_SHOW", "CANCELED"])
def test_the_lead_of_a_call_that_was_over_when_it_came_is_the_same_in_either_order(api: ApiClient, state: str) -> None:
    """docs/interface.md, A32"""
    states = [{"changed_at": at(1)}, {"changed_at": at(2), "state": state}]
    for number, order in enumerate(permutations(states)):
        for fields in order:
            past = {"schedule_time": "2024-05-01T10:00:00Z", "lead": {"email": f"lead{number}@example.com"}}
            sync(api, f"b-{number}", **past, **fields)

    assert [row["status"]["role"] for row in api.get_data("/api/external/leads")] == ["NEW_LEAD"] * 2
    assert [row["outcome"]["role"] for row in api.get_data("/api/external/appointments")] == [state] * 2


def test_a_no_show_is_stored_without_a_default_status_too(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, A69"""
    defaults = Status.objects.of(organization).filter(role="NO_SHOW")
    defaults.update(is_active=False, is_appointment_default=False, is_lead_default=False)

    retired = sync(api, "b-1", state="NO_SHOW", changed_at=at(1))
    other = make_status(organization, "Did not come", role="NO_SHOW")
    active = sync(api, "b-2", state="NO_SHOW", changed_at=at(1))
    Status.objects.of(organization).filter(role="NO_SHOW").update(role="LOST")
    refused = api.put(f"{SYNC}b-3", sync_payload(state="NO_SHOW", changed_at=at(1)))

    ids = [response.json()["data"]["id"] for response in (retired, active)]
    assert [api.get_appointment(id)["outcome"]["name"] for id in ids] == ["No-show", other.name]
    assert refused.json()["errors"] == {"state": ["state has no status on the appointment board"]}


def test_the_lead_of_a_call_that_came_late_and_was_moved_is_the_same_in_every_order(api: ApiClient) -> None:
    """docs/interface.md, A32 and A71"""
    past = {"schedule_time": "2024-05-01T10:00:00Z"}
    for number, order in enumerate(permutations(["late", "missed", "moved"])):
        requests: dict[str, tuple[str, dict[str, Any]]] = {
            "late": (f"a-{number}", {"changed_at": at(1), **past}),
            "missed": (f"a-{number}", {"changed_at": at(2), "state": "NO_SHOW", **past}),
            "moved": (f"b-{number}", {**MOVED[1], "changed_at": at(3), "previous_reference": f"a-{number}"}),
        }
        for name in order:
            reference, fields = requests[name]
            sync(api, reference, **fields, lead={"email": f"lead{number}@example.com"})

    assert [row["status"]["role"] for row in api.get_data("/api/external/leads")] == ["APPOINTMENT_BOOKED"] * 6
    assert [row["outcome"]["role"] for row in api.get_data("/api/external/appointments")] == ["APPOINTMENT_BOOKED"] * 6


@pytest.mark.django_db(transaction=True)
def test_simultaneous_states_of_a_chain_converge(organization: Organization, api: ApiClient) -> None:
    requests = [lambda api, one=one: sync(api, one[0], **one[1]) for one in [BOOKED, CANCELED, MOVED]]

    responses = run_concurrently(api.key, *(requests * (THREADS // 3)))

    assert status_codes(responses)[201] == 1
    assert {response.status_code for response in responses} == {200, 201}
    assert state(api) == [("b-2", LATER, "APPOINTMENT_BOOKED", False)]


def test_a_cancellation_that_comes_before_the_move_leaves_the_last_time(api: ApiClient) -> None:
    sync(api, "b-1", changed_at=at(1))
    sync(api, "b-2", changed_at=at(3), previous_reference="b-1", schedule_time=LATER, state="CANCELED")
    sync(api, "b-2", changed_at=at(2), previous_reference="b-1", schedule_time=LATER)

    assert state(api) == [("b-2", LATER, "CANCELED", False)]


def test_a_host_who_has_left_stays_the_host(api: ApiClient, host: Membership) -> None:
    id = sync(api, host_email=host.user.email, changed_at=at(1)).json()["data"]["id"]
    deactivate(host)

    response = sync(api, host_email=host.user.email, changed_at=at(2), schedule_time=LATER)

    shown = api.get_appointment(id)
    assert (response.status_code, shown["host"]["email"], shown["schedule_time"]) == (200, host.user.email, LATER)


CHAIN = [
    ("b-1", {"changed_at": at(1)}),
    ("b-2", {"changed_at": at(2), "previous_reference": "b-1", "schedule_time": LATER}),
    ("b-3", {"changed_at": at(3), "previous_reference": "b-2", "schedule_time": LATER, "state": "NO_SHOW"}),
]


@pytest.mark.parametrize("order", list(permutations(CHAIN)))
def test_a_booking_that_was_moved_twice_leaves_one_that_is_not_canceled_in_every_order(
    api: ApiClient, organization: Organization, order: list[tuple[str, dict[str, Any]]]
) -> None:
    responses = [sync(api, reference, **fields) for reference, fields in order]

    assert {response.status_code for response in responses} <= {200, 201}
    assert [row for row in state(api) if row[2] != "CANCELED"] == [("b-3", LATER, "NO_SHOW", True)]
    assert notifications_of(organization) == []


@pytest.mark.django_db(transaction=True)
def test_simultaneous_states_of_a_booking_that_was_moved_twice_leave_one(
    api: ApiClient, organization: Organization
) -> None:
    requests = [lambda api, one=one: sync(api, one[0], **one[1]) for one in CHAIN]

    responses = run_concurrently(api.key, *(requests * (THREADS // 3)))

    assert {response.status_code for response in responses} <= {200, 201}
    assert [row for row in state(api) if row[2] != "CANCELED"] == [("b-3", LATER, "NO_SHOW", True)]


def test_an_outcome_set_since_stays_until_the_scheduler_says_another_state(api: ApiClient) -> None:
    id = sync(api, changed_at=at(1), state="NO_SHOW").json()["data"]["id"]
    api.patch(f"/api/external/appointments/{id}", {"outcome_role": "WON"})
    api.patch(f"/api/external/appointments/{id}", {"outcome_role": "NO_SHOW"})
    api.patch(f"/api/external/appointments/{id}", {"outcome_role": "WON"})

    sync(api, changed_at=at(2), state="NO_SHOW")
    kept = state(api)
    sync(api, changed_at=at(3), state="CANCELED")

    assert [kept[0][2], state(api)[0][2]] == ["WON", "CANCELED"]


def test_only_the_scheduler_cancels_its_appointment(api: ApiClient) -> None:
    sync(api)

    responses = [api.cancel(external_reference="b-1"), api.reschedule(external_reference="b-1")]

    assert [response.status_code for response in responses] == [409, 409]


def test_answers_are_an_opt_in_with_the_same_reference(api: ApiClient) -> None:
    answers = [{"question": "Budget?", "answer": "1,000"}]

    id = sync(api, questions_answers=answers).json()["data"]["id"]

    (opt_in,) = api.get_appointment(id)["opt_ins"]
    assert (opt_in["source"], opt_in["external_reference"]) == ("SCHEDULER_A", "b-1")
    (answer,) = api.get_opt_in(opt_in["id"])["question_answers"]
    assert (answer["question"], answer["answer"]) == ("Budget?", "1,000")


def test_answers_do_not_count_as_an_opt_in_that_was_booked_later_or_never(
    api: ApiClient, organization: Organization
) -> None:
    """docs/interface.md, A74"""
    answers = [{"question": "Budget?", "answer": "1,000", "position": 1}]
    sync(api, "b-1", questions_answers=answers)
    sync(api, "b-2", lead={"email": "grace@example.com"})
    sync(api, "b-2", lead={"email": "grace@example.com"}, questions_answers=answers, changed_at=at(5))

    booked = dict(Appointment.objects.of(organization).values_list("external_reference", "created_at"))
    answered = dict(OptIn.objects.of(organization).values_list("external_reference", "created_at"))
    assert answered["b-1"] == booked["b-1"]
    assert answered["b-2"] > booked["b-2"]  # they came later
    period = reports.Period(now().date(), now().date(), ZoneInfo("UTC"))
    funnel = reports.funnel(organization, period, now())
    total, _ = reports.opt_in_numbers(organization, period, now(), by_campaign=False)
    assert (funnel.opt_ins, funnel.opt_ins_booked, funnel.time_to_booking) == (2, 1, None)
    assert total == {"opt_ins": 2, "opt_ins_booked": 1, "time_to_booking": None}


@pytest.mark.parametrize("has_answers", [True, False])
def test_answers_do_not_change_where_the_lead_came_from_nor_its_name(
    api: ApiClient, organization: Organization, host: Membership, has_answers: bool
) -> None:
    """docs/interface.md, A74, L5 and L11"""
    answers = [{"question": "Budget?", "answer": "1,000", "position": 1}] if has_answers else []
    lead = {"email": "jd77@example.com"}
    api.submit(email=lead["email"], first_name="John", traffic={"utm_source": "facebook", "utm_campaign": "fb-1"})
    traffic = {"utm_campaign": "calendar", "utm_content": host.user_id}
    sync(api, "b-1", lead=lead, questions_answers=answers, traffic=traffic)
    sync(api, "b-2", lead=lead)
    api.book(lead_email=lead["email"])
    sync(api, "b-3", lead={"email": "grace@example.com"}, questions_answers=answers)
    api.submit(email="grace@example.com", first_name="Grace")

    people = {row["email"]: api.get_lead(row["id"]) for row in api.get_data("/api/external/leads")}
    john, grace = people[lead["email"]], people["grace@example.com"]
    calls = Appointment.objects.of(organization).filter(lead=john["id"])
    sources = calls.order_by("created_at").values_list("last_source__name", "utm_campaign")
    assert list(sources) == [("facebook", "calendar"), ("facebook", "fb-1"), ("facebook", "fb-1")]
    assert (john["last_source"]["name"], john["setter"], grace["first_name"]) == ("facebook", None, "Grace")


def test_a_submission_with_a_schedulers_source_is_the_latest_opt_in_as_any_other(
    api: ApiClient, organization: Organization
) -> None:
    """docs/interface.md, A18"""
    api.submit(traffic={"utm_source": "facebook", "utm_campaign": "fb-1"})
    api.submit(source="SCHEDULER_A", external_reference="s-1", traffic={})
    api.book()

    assert Appointment.objects.of(organization).get().utm_campaign is None


def test_later_answers_keep_the_traffic_of_the_booking(api: ApiClient, organization: Organization) -> None:
    """docs/interface.md, A69 and A74"""
    answers = [[{"question": "Budget?", "answer": text, "position": 1}] for text in ("1,000", "2,000")]
    sync(api, changed_at=at(1), traffic={"utm_source": "google", "utm_campaign": "x22"}, questions_answers=answers[0])
    sync(api, changed_at=at(2), state="CANCELED", traffic={}, questions_answers=answers[1])
    api.book(lead_email="ada@example.com")

    stored = OptIn.objects.of(organization).values_list("utm_source", "utm_campaign", "question_answers__answer")
    assert list(stored) == [("google", "x22", "2,000")]
    assert set(Appointment.objects.of(organization).values_list("utm_campaign", flat=True)) == {"x22"}


@pytest.mark.parametrize(("first", "later"), [(False, True), (True, True), (True, False)])
def test_answers_of_a_later_state_and_of_a_replacement_are_stored_once(
    api: ApiClient, organization: Organization, first: bool, later: bool
) -> None:
    """docs/interface.md, A74"""

    def answers(text: str, are_given: bool) -> dict[str, Any]:
        given = [{"question": "Budget?", "answer": text, "position": 1}]
        return {"questions_answers": given} if are_given else {}

    sync(api, "b-1", changed_at=at(1), **answers("1,000", first))
    sync(api, "b-2", changed_at=at(2), previous_reference="b-1", **answers("2,000", later))

    stored = OptIn.objects.of(organization).values_list("external_reference", "question_answers__answer")
    assert list(stored) == [("b-1", "1,000") if first else ("b-2", "2,000")]


def test_a_cancellation_says_by_whom_and_notifies_only_if_asked(api: ApiClient, organization: Organization) -> None:
    sync(api)
    sync(api, changed_at=at(2), state="CANCELED", canceled_by="LEAD", reason="Is ill")
    silent = notifications_of(organization)
    sync(api, changed_at=at(3), schedule_time=LATER, notify=True)

    body = json.loads(Event.objects.of(organization).get(type="appointment.canceled").body)
    assert body["details"] == {"canceled_by": "LEAD", "reason": "Is ill", "rescheduled_to": None}
    assert (silent, len(notifications_of(organization)) > 0) == ([], True)


def test_a_newer_state_of_an_opt_in_replaces_answers_and_traffic(api: ApiClient, organization: Organization) -> None:
    first = api.put(FORM + "f-1", synced_opt_in_payload(questions_answers=[{"question": "Why?", "answer": "a"}]))
    body = synced_opt_in_payload(
        changed_at=at(5), questions_answers=[{"question": "Why?", "answer": "b"}], traffic={"utm_source": "x"}
    )
    second = api.put(FORM + "f-1", body)
    before = snapshot_of(organization)
    repeat, older = api.put(FORM + "f-1", body), api.put(FORM + "f-1", synced_opt_in_payload(changed_at=at(4)))

    data = first.json()["data"]
    assert [response.status_code for response in (first, second, repeat, older)] == [201, 200, 200, 200]
    assert [response.json()["data"]["applied"] for response in (first, second, repeat, older)] == [
        True,
        True,
        True,
        False,
    ]
    assert set(data) == {"opt_in_id", "lead_id", "applied"}
    shown = api.get_opt_in(data["opt_in_id"])
    assert [answer["answer"] for answer in shown["question_answers"]] == ["b"]
    assert shown["traffic_attribution"]["utm_source"] == "x"
    assert snapshot_of(organization) == before
    assert events_of(organization) == ["lead.created", "opt_in.created", "opt_in.updated"]


@pytest.mark.django_db(transaction=True)
def test_simultaneous_syncs_of_one_opt_in_keep_the_newest(api: ApiClient) -> None:
    def put(number: int) -> Any:
        answers = [{"question": "Which?", "answer": str(number)}]
        body = synced_opt_in_payload(changed_at=at(number), questions_answers=answers)
        return lambda api: api.put(FORM + "f-1", body)

    responses = run_concurrently(api.key, *[put(number) for number in range(THREADS)])

    assert status_codes(responses) == {201: 1, 200: THREADS - 1}
    (opt_in,) = api.get_data("/api/external/opt-ins")
    assert api.get_opt_in(opt_in["id"])["question_answers"][0]["answer"] == str(THREADS - 1)


def test_a_rescheduling_can_change_the_duration(api: ApiClient, organization: Organization) -> None:
    """A75"""
    api.book(external_reference="ref-1")
    api.reschedule(duration_minutes=45)
    moved = Appointment.objects.of(organization).get().duration_minutes
    api.reschedule(duration_minutes=30)
    api.reschedule()

    body = json.loads(Event.objects.of(organization).get(type="appointment.rescheduled").body)
    assert (moved, body["details"]["duration_minutes"]) == (45, 45)
    assert Appointment.objects.of(organization).get().duration_minutes == 30
