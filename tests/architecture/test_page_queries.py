"""The pages of a list add up to the whole list, in its order, whichever strategy reads them."""

import json
from collections.abc import Iterator
from itertools import count

import pytest
from django.db import connection

from appointments.filters import AppointmentFilter
from appointments.models import Appointment
from appointments.services import edit_appointment
from foundation.api import page_queries
from organizations.actors import SYSTEM
from organizations.models import Membership, Organization
from statuses.models import Status
from statuses.services import save_status
from tests.client import ApiClient
from tests.factories import owner_actor

PATH = "/api/external/appointments"
QUERIES = [
    {},
    {"outcome_role": "WON"},
    {"outcome_role": "WON,LOST"},
    {"closer": "hana@acme.example"},
    {"call_category": "SALES_CALL,TRIAGE_CALL"},
    {"scheduled_to": "2027-01-08"},
    {"scheduled_from": "2027-01-03", "outcome_role": "WON"},
    {"scheduled_from": "2027-01-03", "scheduled_to": "2027-01-08"},
    {"updated_from": "2020-01-01"},
    {"updated_from": "2020-01-01", "closer": "hana@acme.example"},
    {"created_from": "2020-01-01", "outcome_role": "LOST,WON"},
    {"created_to": "2099-01-01", "scheduled_to": "2027-01-08"},
    {"outcome_role": "CANCELED"},
]
TOTALS_OF_ONE_COLUMN = [
    ({"closer": "hana@acme.example"}, 6),
    ({"call_category": "SALES_CALL"}, 12),
    ({"scheduled_to": "2027-01-08"}, 8),
    ({"scheduled_from": "2027-01-03", "scheduled_to": "2027-01-08"}, 6),
    ({"created_to": "2099-01-01"}, 12),
]
FREE_WORKERS = """
    ANALYZE appointments_appointment;
    SET LOCAL seq_page_cost = 0; SET LOCAL enable_indexonlyscan = off;
    SET LOCAL min_parallel_table_scan_size = 0; SET LOCAL min_parallel_index_scan_size = 0;
    SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0;
    SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off
"""
ORDERINGS = ["-created_at", "created_at", "schedule_time", "-schedule_time", "updated_at"]


@pytest.fixture(autouse=True, params=[0, 6, 7, 100])
def _small_sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the results of no query for few rows, of some or of all.

    Probe so few rows that some pages lie before the boundary, some behind it, and some on both sides.
    """
    monkeypatch.setattr(page_queries, "PROBE_ROWS", 3)
    monkeypatch.setattr(page_queries, "FEW_ROWS", request.param)
    monkeypatch.setattr(page_queries, "is_busy", lambda: request.param in (0, 7))


@pytest.fixture
def appointments(api: ApiClient, organization: Organization, host: Membership) -> list[Appointment]:
    """Create twelve appointments, with two statuses for the role WON, one for LOST, and the default one."""
    statuses = {status.role: status for status in Status.objects.of(organization)}
    won_again = save_status(organization=organization, actor=SYSTEM, status=Status(name="Won again", role="WON"))
    outcomes = [statuses["WON"], statuses["LOST"], won_again, None]
    for number in range(12):
        members = {"host_email": host.user.email} if number % 2 else {}
        response = api.book(
            external_reference=f"ref-{number}", schedule_time=f"2027-01-{(number * 5) % 12 + 1:02}T10:00:00Z", **members
        )
        outcome = outcomes[number % 4]
        if outcome:
            appointment = Appointment.objects.of(organization).get(pk=response.json()["data"]["id"])
            edit_appointment(
                organization=organization,
                actor=owner_actor(organization),
                appointment=appointment,
                status_id=outcome.pk,
            )
    return list(Appointment.objects.of(organization).select_related("outcome", "host__user"))


def matches(appointment: Appointment, query: dict[str, str]) -> bool:
    """Return whether the filters should select the appointment; the same conditions, written in Python."""
    outcome, host = appointment.outcome, appointment.host
    day = appointment.schedule_time.date().isoformat()
    return (
        (outcome is None or "outcome_role" not in query or outcome.role in query["outcome_role"].split(","))
        and ("closer" not in query or (host is not None and host.user.email == query["closer"]))
        and day <= query.get("scheduled_to", "9999")
        and day >= query.get("scheduled_from", "")
    )


def read_all_pages(api: ApiClient, query: dict[str, str]) -> Iterator[str]:
    """Yield the ids on all pages; every page must have the same total."""
    totals = set()
    for page in count(1):
        body = api.get(PATH, {**query, "limit": "5", "page": str(page)}).json()
        totals.add(body["pagination"]["total"])
        yield from (item["id"] for item in body["data"])
        if not body["pagination"]["hasNext"]:
            break
    assert len(totals) == 1


def read_total(api: ApiClient, query: dict[str, str]) -> int:
    return api.get(PATH, {**query, "limit": "1"}).json()["pagination"]["total"]


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_the_pages_are_the_list_in_its_order(api: ApiClient, appointments: list[Appointment], ordering: str) -> None:
    column = ordering.removeprefix("-")
    ordered = sorted(appointments, key=lambda row: (getattr(row, column), row.pk), reverse=ordering.startswith("-"))

    pages = {json.dumps(query): list(read_all_pages(api, {**query, "ordering": ordering})) for query in QUERIES}

    assert pages == {json.dumps(query): [str(row.pk) for row in ordered if matches(row, query)] for query in QUERIES}


@pytest.mark.parametrize("_small_sizes", [0], indirect=True)
def test_totals_are_exact_just_below_at_and_just_above_the_number_that_counts_as_few(
    api: ApiClient, appointments: list[Appointment], monkeypatch: pytest.MonkeyPatch
) -> None:
    totals = {}
    for few_rows in range(len(appointments) + 2):
        monkeypatch.setattr(page_queries, "FEW_ROWS", few_rows)
        totals[few_rows] = [read_total(api, query) for query, _ in TOTALS_OF_ONE_COLUMN]

    expected = [total for _, total in TOTALS_OF_ONE_COLUMN]
    assert totals == dict.fromkeys(totals, expected)


@pytest.mark.parametrize("_small_sizes", [100], indirect=True)
def test_a_busy_process_counts_without_parallel_workers(
    api: ApiClient, organization: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.book()

    def has_workers() -> bool:
        query = AppointmentFilter({"scheduled_to": "2027-01-08"}, organization=organization)
        assert not query.errors
        with connection.cursor() as cursor:
            cursor.execute(FREE_WORKERS)
            sql, params = page_queries.select_page(query.list_query(), 0, 10)
            cursor.execute("EXPLAIN " + sql, params)
            return "Gather" in str(cursor.fetchall())

    alone = has_workers()
    monkeypatch.setattr(page_queries, "is_busy", lambda: True)

    assert (alone, has_workers()) == (True, False)
