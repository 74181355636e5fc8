"""The exact number of statements of each operation, including the look-up of the key, and that it doesn't grow."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from organizations.models import Membership, Organization
from tests.client import ApiClient
from tests.factories import make_custom_field, make_member
from webhooks.services import add_endpoint

APPOINTMENTS = "/api/external/appointments"
LISTS = [APPOINTMENTS, "/api/external/opt-ins", "/api/external/leads"]
TRANSACTION_STATEMENTS = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")
ANSWERS = [{"question": f"Question {number}", "answer": "So", "position": number} for number in range(1, 11)]


@pytest.fixture(autouse=True)
def _organization_with_data(api: ApiClient, host: Membership, organization: Organization, settings: Any) -> None:
    """Use the key, and create a source, a lead with an appointment and an opt-in, and a webhook endpoint."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    add_endpoint(organization=organization, url="http://127.0.0.1:9/events")
    add_lead(api, host, 0)


def add_lead(api: ApiClient, host: Membership, number: int) -> None:
    email = f"lead{number}@example.com"
    api.submit(email=email, questions_answers=[{"question": "Why?", "answer": "So"}])
    api.book(external_reference=f"ref-{number}", lead_email=email, host_email=host.user.email, notes="Note")


def count_statements(request: Callable[[], Any]) -> int:
    """Return the number of statements of a successful request, without those that begin and end transactions."""
    with CaptureQueriesContext(connection) as captured:
        response = request()
    assert response.status_code in (200, 201), response.content
    return sum(not query["sql"].startswith(TRANSACTION_STATEMENTS) for query in captured.captured_queries)


@pytest.mark.parametrize("path", LISTS)
def test_a_list_takes_three_statements_for_one_row_and_for_three(api: ApiClient, host: Membership, path: str) -> None:
    for_one_row = count_statements(lambda: api.get(path))
    add_lead(api, host, 1)
    add_lead(api, host, 2)

    for_three_rows = count_statements(lambda: api.get(path))

    assert (for_one_row, for_three_rows) == (3, 3)


@pytest.mark.parametrize(
    "query",
    [
        {"outcome_role": "WON,APPOINTMENT_BOOKED", "call_category": "SALES_CALL", "closer": "hana@acme.example"},
        {"created_from": "2020-01-01", "ordering": "schedule_time", "limit": "1", "page": "2"},
    ],
)
def test_filters_add_no_statement_to_a_list(api: ApiClient, query: dict[str, str]) -> None:
    assert count_statements(lambda: api.get(APPOINTMENTS, query)) <= 3


def test_a_list_of_one_leads_appointments_takes_three_statements_even_if_it_is_empty(api: ApiClient) -> None:
    with_appointment = api.get_data(APPOINTMENTS)[0]["lead"]["id"]
    without_appointment = api.submit(email="other@example.com").json()["data"]["lead_id"]

    statements = [
        count_statements(lambda lead_id=lead_id: api.get(APPOINTMENTS, {"lead_id": lead_id}))
        for lead_id in (with_appointment, without_appointment)
    ]

    assert statements == [3, 3]


@pytest.mark.parametrize("path", LISTS)
def test_a_detail_takes_two_statements(api: ApiClient, path: str) -> None:
    (item,) = api.get_data(path)

    assert count_statements(lambda: api.get(f"{path}/{item['id']}")) == 2


@pytest.mark.parametrize("name", ["members", "event-types", "sources", "custom-fields"])
def test_a_look_up_takes_three_statements_whatever_its_rows(
    api: ApiClient, host: Membership, organization: Organization, name: str
) -> None:
    make_custom_field(organization, "LEAD", "color")
    for_few_rows = count_statements(lambda: api.get(f"/api/external/{name}"))
    make_custom_field(organization, "LEAD", "size")
    make_member(organization, "sam@acme.example")
    api.submit(email="new@example.com", traffic={"utm_source": "letter"})
    api.book(external_reference="new", event_type_name="New")

    for_more_rows = count_statements(lambda: api.get(f"/api/external/{name}"))

    assert (for_few_rows, for_more_rows) == (3, 3)


def test_the_look_up_of_the_key_takes_two_statements(api: ApiClient) -> None:
    assert count_statements(lambda: api.get("/api/external/me")) == 2


def test_the_statuses_list_takes_two_statements(api: ApiClient) -> None:
    assert count_statements(lambda: api.get("/api/external/statuses")) == 2


def test_a_booking_with_a_new_lead_and_a_new_event_type_takes_nine_statements(api: ApiClient, host: Membership) -> None:
    booking = {
        "external_reference": "new",
        "lead_email": "new@example.com",
        "event_type_name": "New",
        "host_email": host.user.email,
        "notes": "Note",
    }

    assert count_statements(lambda: api.book(**booking)) == 9


def test_a_booking_for_an_existing_lead_takes_ten_statements(api: ApiClient, host: Membership) -> None:
    booking = {
        "external_reference": "new",
        "lead_email": "lead0@example.com",
        "host_email": host.user.email,
        "notes": "Note",
    }

    assert count_statements(lambda: api.book(**booking)) == 10


def test_a_booking_that_takes_the_leads_setter_takes_one_statement_more(api: ApiClient, host: Membership) -> None:
    api.submit(email="lead0@example.com", traffic={"utm_content": host.user_id})
    booking = {
        "external_reference": "new",
        "lead_email": "lead0@example.com",
        "host_email": host.user.email,
        "notes": "Note",
    }

    assert count_statements(lambda: api.book(**booking)) == 11


def test_a_booking_that_changes_the_lead_takes_fourteen_statements(api: ApiClient, host: Membership) -> None:
    """It reads the lead as it was shown, stores it with its history, and records `lead.status_changed`."""
    api.submit(email="new@example.com")
    booking = {
        "external_reference": "new",
        "lead_email": "new@example.com",
        "host_email": host.user.email,
        "notes": "Note",
    }

    assert count_statements(lambda: api.book(**booking)) == 14


def test_a_repeated_booking_takes_two_statements(api: ApiClient) -> None:
    assert count_statements(lambda: api.book(external_reference="ref-0")) == 2


def test_an_update_of_an_appointment_takes_nineteen_statements(api: ApiClient, host: Membership) -> None:
    """It locks the row, edits it with its event and the notification of the host, and reads it again."""
    (item,) = api.get_data(APPOINTMENTS)
    changes = {"recording_url": "https://record.example/1", "setter_email": host.user.email, "custom_fields": {}}

    assert count_statements(lambda: api.patch(f"{APPOINTMENTS}/{item['id']}", changes)) == 19


def test_an_opt_in_with_a_new_lead_and_ten_answers_takes_five_statements(api: ApiClient) -> None:
    opt_in = {"email": "new@example.com", "external_reference": "new", "questions_answers": ANSWERS}

    assert count_statements(lambda: api.submit(**opt_in)) == 5


def test_an_opt_in_that_changes_nothing_of_the_lead_takes_seven_statements(api: ApiClient) -> None:
    opt_in = {"email": "lead0@example.com", "external_reference": "new", "questions_answers": ANSWERS}

    assert count_statements(lambda: api.submit(**opt_in)) == 7


def test_an_opt_in_that_changes_the_lead_takes_nine_statements(api: ApiClient) -> None:
    """It reads the lead as it was shown, stores it, and records `lead.updated`."""
    opt_in = {"email": "lead0@example.com", "last_name": "King", "questions_answers": ANSWERS}

    assert count_statements(lambda: api.submit(**opt_in)) == 9
