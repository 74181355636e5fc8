"""Imports of many leads or appointments in one request (docs/interface.md, L46 to L48, A64 to A66)."""

from typing import Any

import pytest
from django.db import OperationalError, connection

from appointments.models import Appointment
from leads import views
from leads.models import Lead
from organizations.models import Membership, Organization, StoredResponse
from tests.client import ApiClient, booking_payload
from tests.contract.assertions import assert_error, assert_invalid_fields
from tests.contract.concurrency import run_concurrently, status_codes
from tests.factories import events_of, make_api, notifications_of, snapshot_of

LEADS, APPOINTMENTS = "/api/external/leads/import", "/api/external/appointments/import"


def import_leads(api: ApiClient, *emails: str, **headers: str) -> Any:
    return api.post(LEADS, {"rows": [{"email": email} for email in emails]}, **headers)


def emails_of(organization: Organization) -> list[str]:
    return sorted(Lead.objects.of(organization).values_list("email", flat=True))


def test_each_row_has_the_result_of_a_request_of_its_own(api, organization):
    """L46, L47: in the order of the rows; a later row sees what an earlier one has stored."""
    rows = [
        {"email": "ada@example.com", "external_reference": "crm-1"},
        {"email": "nobody", "last_name": 5},
        {"email": "ADA@example.com", "first_name": "Ada"},
        {"email": "bob@example.com", "external_reference": "crm-1"},
    ]

    response = api.post(LEADS, {"rows": rows, "other": 1})

    id = str(Lead.objects.of(organization).get().pk)
    errors = {name: api.post("/api/external/leads", rows[1]).json()["errors"][name] for name in ("email", "last_name")}
    assert response.status_code == 200
    assert response.json() == {
        "status": "success",
        "message": "Rows imported",
        "data": {
            "rows": [
                {
                    "index": 0,
                    "status": 201,
                    "data": {"id": id, "is_new": True, "changed": ["external_reference"], "kept": []},
                },
                {"index": 1, "status": 400, "message": errors["email"][0], "errors": errors},
                {
                    "index": 2,
                    "status": 200,
                    "data": {"id": id, "is_new": False, "changed": ["first_name"], "kept": []},
                },
                {"index": 3, "status": 409, "message": "external_reference crm-1 belongs to another lead"},
            ],
            "created": 1,
            "existing": 1,
            "failed": 2,
        },
    }
    assert events_of(organization) == ["lead.created", "lead.updated"]


def test_appointments_are_booked_and_no_one_is_notified(api, organization, host: Membership):
    """A64, A65: whatever a row says."""
    rows = [
        booking_payload(external_reference="ref-1", host_email=host.user.email, notify=True),
        booking_payload(external_reference="ref-2", host_email="nobody@example.com"),
        booking_payload(external_reference="ref-1"),
        booking_payload(external_reference="ref-1", schedule_time="2027-02-01T10:00:00Z"),
    ]

    data = api.post(APPOINTMENTS, {"rows": rows}).json()["data"]

    id = str(Appointment.objects.of(organization).get().pk)
    assert [(row["status"], row.get("data")) for row in data["rows"]] == [
        (201, {"id": id, "is_duplicate": False}),
        (400, None),
        (200, {"id": id, "is_duplicate": True}),
        (409, None),
    ]
    assert data["rows"][1]["errors"].keys() == {"host_email"}
    assert (data["created"], data["existing"], data["failed"]) == (1, 1, 2)
    assert notifications_of(organization) == []
    assert events_of(organization) == ["appointment.created", "lead.created"]


def test_with_notify_each_booking_notifies(api, organization, host: Membership):
    """A65"""
    rows = [booking_payload(external_reference="ref-1", host_email=host.user.email, notify=False)]

    assert api.post(APPOINTMENTS, {"rows": rows, "notify": True}).json()["data"]["created"] == 1

    assert notifications_of(organization) == [("CALL_BOOKED", host.user.email)]


@pytest.mark.parametrize("path", [LEADS, APPOINTMENTS])
@pytest.mark.parametrize(
    ("rows", "name", "message"),
    [
        (..., "rows", "rows is required"),
        (None, "rows", "rows is required"),
        ({}, "rows", "rows must be an array"),
        ([], "rows", "rows must have 1 to 200 rows"),
        ([{"email": "a@example.com"}] * 201, "rows", "rows must have 1 to 200 rows"),
        ([{"email": "a@example.com"}, ["b"]], "rows.1", "rows.1 must be an object"),
    ],
)
def test_other_forms_of_rows_are_400_and_nothing_is_done(api, organization, path, rows, name, message):
    """L46"""
    before = snapshot_of(organization)

    response = api.post(path, {} if rows is ... else {"rows": rows})

    assert_invalid_fields(response, name)
    assert response.json()["message"] == message
    assert snapshot_of(organization) == before


def test_notify_has_to_be_true_or_false(api, organization):
    assert_invalid_fields(api.post(APPOINTMENTS, {"rows": [booking_payload()], "notify": "no"}), "notify")
    assert not Appointment.objects.of(organization).exists()


def test_it_needs_the_scope_write(organization):
    reader = make_api(organization, scopes=["read"])
    assert_error(import_leads(reader, "a@example.com"), 403, "This API key lacks the scope write")


@pytest.mark.usefixtures("stopped_clock")
def test_ten_rows_count_as_one_request(api, organization):
    """L47: a batch that is too large for what is left is 429, does nothing, and uses up one request."""
    organization.rate_limit_per_minute = 6
    organization.save()

    three = import_leads(api, *(f"lead{number}@example.com" for number in range(21)))
    before = snapshot_of(organization)
    refused = import_leads(api, *(f"other{number}@example.com" for number in range(31)))
    two = import_leads(api, *(f"lead{number}@example.com" for number in range(20)))

    assert (three.status_code, three.headers["RateLimit"].split(";")[1]) == (200, "r=3")
    assert_error(refused, 429, "Too many requests")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert (two.status_code, two.headers["RateLimit"].split(";")[1]) == (200, "r=0")
    assert snapshot_of(organization) == before


def test_with_a_key_each_row_is_still_a_transaction(api, organization, monkeypatch):
    """L48: a repeat does what is missing, also after rows that were 503."""
    emails, upsert = ("a@example.com", "b@example.com"), views.upsert_by_email
    transactions = []

    def look(**values: Any) -> Any:
        transactions.append(connection.in_atomic_block and len(connection.savepoint_ids))
        return upsert(**values)

    monkeypatch.setattr(views, "upsert_by_email", look)
    alone = import_leads(api, "a@example.com")
    first = import_leads(api, *emails, idempotency_key="key-1")
    again = import_leads(api, *emails, idempotency_key="key-1")

    assert alone.json()["data"]["created"] == 1
    counts = [(each.json()["data"]["created"], each.json()["data"]["existing"]) for each in (first, again)]
    assert counts == [(1, 1), (0, 2)]
    assert len({*transactions}) == 1  # none is inside of another one
    assert "Idempotent-Replayed" not in again.headers
    assert not StoredResponse.objects.of(organization).exists()


def test_after_an_interruption_no_other_row_is_tried(api, organization, monkeypatch):
    """L47: the rows before it stay."""
    upsert = views.upsert_by_email

    def interrupt(**values: Any) -> Any:
        if values["email"] == "b@example.com":
            raise OperationalError("the database is away")
        return upsert(**values)

    monkeypatch.setattr(views, "upsert_by_email", interrupt)
    emails = ("a@example.com", "b@example.com", "c@example.com")
    data = import_leads(api, *emails).json()["data"]

    unavailable = "The service is briefly unavailable; send the request again"
    assert [(row["status"], row.get("message")) for row in data["rows"]] == [
        (201, None),
        (503, unavailable),
        (503, unavailable),
    ]
    assert emails_of(organization) == ["a@example.com"]


@pytest.mark.django_db(transaction=True)
def test_simultaneous_imports_in_opposite_order_both_succeed(api, organization):
    """L47: of leads that are known and new ones, with the same references."""
    known = [f"known{number}@example.com" for number in range(10)]
    import_leads(api, *known)
    emails = [*known, *(f"new{number}@example.com" for number in range(10))]
    rows = [
        {"email": email, "last_name": "King", "source": f"Source {n}", "external_reference": f"crm-{n}"}
        for n, email in enumerate(emails)
    ]

    def send(api: ApiClient, number: int) -> Any:
        return api.post(LEADS, {"rows": rows[:: -1 if number % 2 else 1]})

    responses = run_concurrently(api.key, *[lambda api, n=n: send(api, n) for n in range(4)])

    assert status_codes(responses) == {200: 4}
    assert [response.json()["data"]["failed"] for response in responses] == [0, 0, 0, 0]
    assert sum(response.json()["data"]["created"] for response in responses) == 10
    assert emails_of(organization) == sorted(emails)
