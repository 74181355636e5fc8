"""Conflicting changes of one appointment at the same time, by API and staff (docs/interface.md, A24, A27, W2)."""

from itertools import groupby, pairwise
from typing import Any

import pytest

from appointments.models import Appointment, OutcomeChange
from organizations.models import Membership, Organization
from tests.client import ApiClient
from tests.contract.concurrency import run_concurrently, status_codes
from tests.factories import owner_of
from tests.staff.forms import form_data
from tests.staff.pages import admin_url, form_errors, logged_in_client

APPOINTMENTS, ROUNDS = 16, 6
pytestmark = pytest.mark.django_db(transaction=True)


def events_by_appointment(api: ApiClient) -> list[list[dict[str, Any]]]:
    """Return the events of each appointment, in the order of the events list."""
    events = [event for event in api.list_events(limit="100") if event["type"].startswith("appointment.")]
    # The sort is stable, so the events of one appointment keep their order.
    by_appointment = sorted(events, key=lambda event: event["data"]["id"])
    return [list(events) for _, events in groupby(by_appointment, key=lambda event: event["data"]["id"])]


def assert_consistent(events: list[dict[str, Any]], organization: Organization) -> None:
    """Assert that the events of one appointment form a sequence that leads from its booking to its stored outcome."""
    assert [event["type"] for event in events].count("appointment.created") == 1
    assert events[0]["type"] == "appointment.created"
    # Each event starts from the outcome that the previous one set, and changes it.
    for before, after in pairwise(events):
        assert after["previous"]["outcome"]["id"] == before["data"]["outcome"]["id"]
        assert after["data"]["outcome"]["id"] != before["data"]["outcome"]["id"]
    appointment = Appointment.objects.of(organization).get(pk=events[0]["data"]["id"])
    assert str(appointment.outcome_id) == events[-1]["data"]["outcome"]["id"]
    assert OutcomeChange.objects.of(organization).filter(appointment=appointment).count() == len(events)


def test_concurrent_bookings_and_cancellations_of_the_same_references_end_in_one_state(
    api: ApiClient, organization: Organization
) -> None:
    references = [f"ref-{number}" for number in range(APPOINTMENTS)]
    operations = {
        "book": lambda api, reference: api.book(external_reference=reference, lead_email=f"{reference}@example.com"),
        "cancel": lambda api, reference: api.cancel(external_reference=reference),
    }
    pairs = [(name, reference) for reference in references for name in ("book", "cancel", "cancel", "book")]
    requests = [
        lambda api, name=name, reference=reference: (name, reference, operations[name](api, reference))
        for name, reference in pairs
    ]

    results = run_concurrently(api.key, *requests)

    assert status_codes(response for name, _, response in results if name == "book") == {
        201: APPOINTMENTS,
        200: APPOINTMENTS,
    }
    assert set(status_codes(response for name, _, response in results if name == "cancel")) <= {200, 404}
    # A cancellation is 404 until its reference is booked.
    canceled = {reference for name, reference, response in results if name == "cancel" and response.status_code == 200}
    roles = {
        appointment["external_reference"]: appointment["outcome"]["role"]
        for appointment in api.get_data("/api/external/appointments", {"limit": "100"})
    }
    assert roles == {
        reference: "CANCELED" if reference in canceled else "APPOINTMENT_BOOKED" for reference in references
    }
    for events in events_by_appointment(api):
        assert_consistent(events, organization)
        assert len(events) <= 2
    assert sum(len(events) for events in events_by_appointment(api)) == APPOINTMENTS + len(canceled)


def test_of_two_staff_members_who_save_at_the_same_time_one_gets_an_error(
    api: ApiClient, organization: Organization, host: Membership
) -> None:
    appointment_id = api.book().json()["data"]["id"]
    url = admin_url(Appointment, "change", appointment_id)
    clients = [logged_in_client(owner_of(organization)), logged_in_client(host)]
    roles = ["WON", "LOST", "FOLLOW_UP", "UNQUALIFIED"]
    for round_number in range(ROUNDS):
        status_ids = [api.get_status(roles[(2 * round_number + position) % 4])["id"] for position in (0, 1)]
        forms = [form_data(client, url, outcome=outcome) for client, outcome in zip(clients, status_ids, strict=True)]

        saves = [
            lambda _, client=client, form=form: client.post(url, form)
            for client, form in zip(clients, forms, strict=True)
        ]

        responses = run_concurrently(api.key, *saves)

        assert status_codes(responses) == {302: 1, 200: 1}
        saved, rejected = sorted(responses, key=lambda response: -response.status_code)
        assert any("Someone else has changed this record" in message for message in form_errors(rejected))
        assert api.get_appointment(appointment_id)["outcome"]["id"] == status_ids[responses.index(saved)]
    (events,) = events_by_appointment(api)
    assert_consistent(events, organization)
    assert len(events) == 1 + ROUNDS


def test_an_appointment_canceled_by_the_api_while_staff_change_it_ends_canceled(
    api: ApiClient, organization: Organization
) -> None:
    staff_client = logged_in_client(owner_of(organization))
    won = api.get_status("WON")["id"]
    for number in range(ROUNDS):
        reference = f"ref-{number}"
        booking = api.book(external_reference=reference, lead_email=f"{reference}@example.com")
        appointment_id = booking.json()["data"]["id"]
        url = admin_url(Appointment, "change", appointment_id)
        form = form_data(staff_client, url, outcome=won)

        responses = run_concurrently(
            api.key,
            lambda _, url=url, form=form: staff_client.post(url, form),
            lambda api, reference=reference: api.cancel(external_reference=reference),
        )

        assert set(status_codes(responses)) <= {302, 200}
        assert api.get_appointment(appointment_id)["outcome"]["role"] == "CANCELED"
    assert len(events_by_appointment(api)) == ROUNDS
    for events in events_by_appointment(api):
        assert_consistent(events, organization)
        assert events[-1]["type"] == "appointment.canceled"
