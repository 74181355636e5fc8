"""How many statements each call costs, the key's check included: exactly so many, and the same for one row and for three."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from organizations.models import Membership, Organization
from tests.client import ApiClient
from webhooks.services import add_endpoint

LISTS = ["/api/external/appointments", "/api/external/opt-ins", "/api/external/leads"]
FRAMES = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")
ANSWERS = [{"question": f"Question {number}", "answer": "So", "position": number} for number in range(1, 11)]


@pytest.fixture(autouse=True)
def _in_use(api: ApiClient, host: Membership, organization: Organization, settings: Any) -> None:
    """An organization that has been used: its key, a source, a lead with a call, a receiver of its events."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    add_endpoint(organization=organization, url="http://127.0.0.1:9/events")
    add(api, host, 0)


def add(api: ApiClient, host: Membership, number: int) -> None:
    person = {"email": f"lead{number}@example.com"}
    api.submit(**person, questions_answers=[{"question": "Why?", "answer": "So"}])
    api.book(external_reference=f"ref-{number}", lead_email=person["email"], host_email=host.user.email, notes="Note")


def count(act: Callable[[], Any]) -> int:
    """Statements, without the frames of transactions."""
    with CaptureQueriesContext(connection) as seen:
        answer = act()
    assert answer.status_code in (200, 201), answer.content
    return sum(not query["sql"].startswith(FRAMES) for query in seen.captured_queries)


@pytest.mark.parametrize("path", LISTS)
def test_a_list_costs_three_for_one_row_and_for_three(api: ApiClient, host: Membership, path: str) -> None:
    one = count(lambda: api.get(path))
    add(api, host, 1)
    add(api, host, 2)

    assert (one, count(lambda: api.get(path))) == (3, 3)


@pytest.mark.parametrize(
    "query",
    [
        {"outcome_role": "WON,APPOINTMENT_BOOKED", "call_category": "SALES_CALL", "closer": "hana@acme.example"},
        {"created_from": "2020-01-01", "ordering": "schedule_time", "limit": "1", "page": "2"},
    ],
)
def test_a_list_costs_no_more_for_its_filters(api: ApiClient, query: dict[str, str]) -> None:
    assert count(lambda: api.get(LISTS[0], query)) <= 3


def test_a_list_of_one_lead_costs_three_also_if_it_is_empty(api: ApiClient) -> None:
    booked = api.get_data(LISTS[0])[0]["lead"]["id"]
    other = api.submit(email="other@example.com").json()["data"]["lead_id"]

    assert [count(lambda lead=lead: api.get(LISTS[0], {"lead_id": lead})) for lead in (booked, other)] == [3, 3]


@pytest.mark.parametrize("path", LISTS)
def test_a_detail_costs_two(api: ApiClient, path: str) -> None:
    (shown,) = api.get_data(path)

    assert count(lambda: api.get(f"{path}/{shown['id']}")) == 2


def test_the_statuses_cost_two(api: ApiClient) -> None:
    assert count(lambda: api.get("/api/external/statuses")) == 2


def test_a_booking_of_a_new_lead_and_a_new_type_costs_eight(api: ApiClient, host: Membership) -> None:
    booking = {
        "external_reference": "new",
        "lead_email": "new@example.com",
        "event_type_name": "New",
        "host_email": host.user.email,
        "notes": "Note",
    }

    assert count(lambda: api.book(**booking)) == 8


def test_a_booking_of_a_known_lead_costs_ten(api: ApiClient, host: Membership) -> None:
    booking = {
        "external_reference": "new",
        "lead_email": "lead0@example.com",
        "host_email": host.user.email,
        "notes": "Note",
    }

    assert count(lambda: api.book(**booking)) == 10


def test_a_repeated_booking_costs_two(api: ApiClient) -> None:
    assert count(lambda: api.book(external_reference="ref-0")) == 2


def test_a_submission_of_a_new_lead_with_ten_answers_costs_six(api: ApiClient) -> None:
    submission = {"email": "new@example.com", "external_reference": "new", "questions_answers": ANSWERS}

    assert count(lambda: api.submit(**submission)) == 6


def test_a_submission_of_a_known_lead_costs_six(api: ApiClient) -> None:
    assert (
        count(lambda: api.submit(email="lead0@example.com", external_reference="new", questions_answers=ANSWERS)) == 6
    )
