"""Opposite changes of one call at once, by integrators and staff: one final state, reached by a legal sequence of events (decisions 21, 28, 30)."""

from itertools import groupby, pairwise
from typing import Any

import pytest

from appointments.models import Appointment, OutcomeChange
from organizations.models import Membership, Organization
from tests.admin.forms import form_data
from tests.admin.pages import admin_url, form_errors, logged_in_client
from tests.client import ApiClient
from tests.contract.concurrency import run_concurrently, status_codes
from tests.factories import owner_of

CALLS, ROUNDS = 16, 6
pytestmark = pytest.mark.django_db(transaction=True)


def histories(api: ApiClient) -> list[list[dict[str, Any]]]:
    """Each call's events, in the order of the feed."""
    told = [event for event in api.list_events(limit="100") if event["type"].startswith("appointment.")]
    by_call = sorted(told, key=lambda event: event["data"]["id"])  # keeps the order within a call
    return [list(events) for _, events in groupby(by_call, key=lambda event: event["data"]["id"])]


def assert_legal(events: list[dict[str, Any]], organization: Organization) -> None:
    """It begins with the booking, each event says what was before it as the one before left it, and the last is how it stands."""
    assert [event["type"] for event in events].count("appointment.created") == 1
    assert events[0]["type"] == "appointment.created"
    for before, after in pairwise(events):
        assert after["previous"]["outcome"]["id"] == before["data"]["outcome"]["id"]
        assert after["data"]["outcome"]["id"] != before["data"]["outcome"]["id"]
    call = Appointment.objects.of(organization).get(pk=events[0]["data"]["id"])
    assert str(call.outcome_id) == events[-1]["data"]["outcome"]["id"]
    assert OutcomeChange.objects.of(organization).filter(appointment=call).count() == len(events)


def test_bookings_and_cancels_of_the_same_references_at_once_end_in_one_state(
    api: ApiClient, organization: Organization
) -> None:
    references = [f"ref-{number}" for number in range(CALLS)]
    acts = {
        "book": lambda api, ref: api.book(external_reference=ref, lead_email=f"{ref}@example.com"),
        "cancel": lambda api, ref: api.cancel(external_reference=ref),
    }
    both = [(name, reference) for reference in references for name in ("book", "cancel", "cancel", "book")]
    requests = [lambda api, name=name, ref=ref: (name, ref, acts[name](api, ref)) for name, ref in both]

    answers = run_concurrently(api.key, *requests)

    assert status_codes(answer for name, _, answer in answers if name == "book") == {201: CALLS, 200: CALLS}
    assert set(status_codes(answer for name, _, answer in answers if name == "cancel")) <= {200, 404}
    canceled = {reference for name, reference, answer in answers if name == "cancel" and answer.status_code == 200}
    shown = {
        call["external_reference"]: call["outcome"]["role"]
        for call in api.get_data("/api/external/appointments", {"limit": "100"})
    }
    assert shown == {
        reference: "CANCELED" if reference in canceled else "APPOINTMENT_BOOKED" for reference in references
    }
    for events in histories(api):
        assert_legal(events, organization)
        assert len(events) <= 2
    assert sum(len(events) for events in histories(api)) == CALLS + len(canceled)


def test_of_two_staff_members_who_save_at_the_same_moment_one_is_told_and_one_change_is_made(
    api: ApiClient, organization: Organization, host: Membership
) -> None:
    call = api.book().json()["data"]["id"]
    address = admin_url(Appointment, "change", call)
    people = [logged_in_client(owner_of(organization)), logged_in_client(host)]
    roles = ["WON", "LOST", "FOLLOW_UP", "UNQUALIFIED"]
    for round_number in range(ROUNDS):
        wanted = [api.get_status(roles[(2 * round_number + place) % 4])["id"] for place in (0, 1)]
        forms = [form_data(person, address, outcome=outcome) for person, outcome in zip(people, wanted, strict=True)]

        answers = run_concurrently(
            api.key,
            *[
                lambda _, person=person, form=form: person.post(address, form)
                for person, form in zip(people, forms, strict=True)
            ],
        )

        assert status_codes(answers) == {302: 1, 200: 1}
        saved, refused = sorted(answers, key=lambda answer: -answer.status_code)
        assert any("Somebody else has changed this" in sentence for sentence in form_errors(refused))
        assert api.get_appointment(call)["outcome"]["id"] == wanted[answers.index(saved)]
    (events,) = histories(api)
    assert_legal(events, organization)
    assert len(events) == 1 + ROUNDS


def test_a_call_that_an_integrator_cancels_while_staff_move_it_ends_canceled(
    api: ApiClient, organization: Organization
) -> None:
    staff = logged_in_client(owner_of(organization))
    won = api.get_status("WON")["id"]
    for number in range(ROUNDS):
        reference = f"ref-{number}"
        call = api.book(external_reference=reference, lead_email=f"{reference}@example.com").json()["data"]["id"]
        address = admin_url(Appointment, "change", call)
        form = form_data(staff, address, outcome=won)

        answers = run_concurrently(
            api.key,
            lambda _, at=address, form=form: staff.post(at, form),
            lambda api, r=reference: api.cancel(external_reference=r),
        )

        assert set(status_codes(answers)) <= {302, 200}
        assert api.get_appointment(call)["outcome"]["role"] == "CANCELED"
    assert len(histories(api)) == ROUNDS
    for events in histories(api):
        assert_legal(events, organization)
        assert events[-1]["type"] == "appointment.canceled"
