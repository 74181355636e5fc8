"""Cursors and uncounted pages (docs/interface.md, G49 to G54)."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from appointments.models import Appointment
from leads.models import Source
from organizations.models import Organization
from tests.client import ApiClient
from tests.contract.assertions import assert_invalid_fields
from tests.factories import make_api, make_custom_field, make_event_type, make_member, set_columns

APPOINTMENTS, LEADS, SOURCES = "/api/external/appointments", "/api/external/leads", "/api/external/sources"
LISTS = [APPOINTMENTS, LEADS, SOURCES, "/api/external/opt-ins"]
LISTS += ["/api/external/members", "/api/external/event-types", "/api/external/custom-fields"]
SAME_TIME = datetime(2026, 5, 6, 7, 8, 9, 123000, tzinfo=UTC)


def read_all(api: ApiClient, path: str, **query: Any) -> list[str]:
    """Return the ids of all pages, each read with the cursor of the page before."""
    ids: list[str] = []
    cursor: str | None = "start"
    while cursor:
        body = api.get(path, {"limit": 2, **query, "cursor": cursor}).json()
        ids += [row["id"] for row in body["data"]]
        cursor = body["pagination"]["nextCursor"]
    return ids


@pytest.fixture
def rows(api: ApiClient, organization: Organization) -> list[str]:
    """Create five rows in each list, and return the appointments' ids. Three are of the same millisecond."""
    ids = []
    for number in range(5):
        email, name = f"lead-{number}@example.com", f"Étude {number // 2}"
        api.submit(email=email, traffic={"utm_source": f"source-{number}"})
        ids.append(api.book(external_reference=f"ref-{number}", lead_email=email).json()["data"]["id"])
        make_member(organization, f"member-{number}@acme.example", first_name=name)
        make_event_type(organization, f"{name} {number}")
        make_custom_field(organization, "LEAD", f"key{number}", label=name)
    for id in ids[1:4]:
        set_columns(Appointment, organization, id, created_at=SAME_TIME)
    # Rows of version 0.2 whose names were in use in another spelling; they come last.
    Source.objects.of(organization).filter(name__in=["source-1", "source-3", "source-4"]).update(name_key=None)
    return ids


def test_a_cursor_leads_through_every_list_in_its_order(api: ApiClient, rows: list[str]) -> None:
    """docs/interface.md, G49, G52"""
    for path in LISTS:
        ids = [row["id"] for row in api.get_data(path, {"limit": 100})]

        assert len(ids) >= 5
        assert read_all(api, path) == read_all(api, path, count="false") == ids


@pytest.mark.parametrize(
    "query",
    [
        {"ordering": "created_at"},
        {"ordering": "-schedule_time"},
        {"ordering": "updated_at", "scheduled_from": "2020-01-01"},
        {"outcome_role": "APPOINTMENT_BOOKED,WON", "created_to": "2099-01-01"},
        {"ordering": "-updated_at", "updated_from": "2020-01-01", "call_category": "SALES_CALL"},
    ],
)
@pytest.mark.parametrize("probed", [3, 2000])
def test_a_cursor_works_with_order_and_filters(
    api: ApiClient, rows: list[str], monkeypatch: pytest.MonkeyPatch, query: dict[str, str], probed: int
) -> None:
    """docs/interface.md, G52"""
    monkeypatch.setattr("foundation.api.page_queries.PROBE_ROWS", probed)
    ids = [row["id"] for row in api.get_data(APPOINTMENTS, {"limit": 100, **query})]

    assert sorted(ids) == sorted(rows)
    assert read_all(api, APPOINTMENTS, **query) == ids
    assert read_all(api, APPOINTMENTS, count="false", **query) == ids


def test_pages_of_a_cursor_are_described(api: ApiClient, rows: list[str]) -> None:
    """docs/interface.md, G49, G50"""
    first = api.get(APPOINTMENTS, {"cursor": "start", "limit": 3}).json()["pagination"]
    last = api.get(APPOINTMENTS, {"cursor": first["nextCursor"], "limit": 3, "count": "false"}).json()["pagination"]

    page = {"limit": 3, "total": 5, "totalPages": 2}
    assert first == {**page, "page": 1, "hasNext": True, "hasPrev": False, "nextCursor": first["nextCursor"]}
    uncounted = {"limit": 3, "total": None, "totalPages": None}
    assert last == {**uncounted, "page": 2, "hasNext": False, "hasPrev": True, "nextCursor": None}


def test_a_page_without_a_cursor_can_be_uncounted_too(api: ApiClient, rows: list[str]) -> None:
    """docs/interface.md, G50"""
    pages = [api.get(APPOINTMENTS, {"page": page, "limit": 3, "count": "false"}).json() for page in (1, 2)]

    uncounted = {"limit": 3, "total": None, "totalPages": None}
    assert [page["pagination"] for page in pages] == [
        {**uncounted, "page": 1, "hasNext": True, "hasPrev": False},
        {**uncounted, "page": 2, "hasNext": False, "hasPrev": True},
    ]
    ids = [row["id"] for page in pages for row in page["data"]]
    assert ids == [row["id"] for row in api.get_data(APPOINTMENTS)]


def test_rows_that_come_and_go_move_no_other_row(api: ApiClient, rows: list[str], organization: Organization) -> None:
    """docs/interface.md, G52"""
    first = api.get(APPOINTMENTS, {"cursor": "start", "limit": 2}).json()
    api.book(external_reference="new", lead_email="new@example.com")
    set_columns(Appointment, organization, first["data"][-1]["id"], created_at=SAME_TIME + timedelta(days=9999))

    rest = api.get(APPOINTMENTS, {"cursor": first["pagination"]["nextCursor"]}).json()["data"]

    assert sorted([row["id"] for row in first["data"] + rest]) == sorted(rows)


def test_a_cursor_of_another_order_list_or_organization_or_a_changed_one_is_400(
    api: ApiClient, other_api: ApiClient, rows: list[str]
) -> None:
    """docs/interface.md, G53"""
    cursor = api.get(APPOINTMENTS, {"cursor": "start", "limit": 1}).json()["pagination"]["nextCursor"]

    assert api.get(APPOINTMENTS, {"cursor": cursor, "ordering": "-created_at"}).status_code == 200
    assert_invalid_fields(api.get(APPOINTMENTS, {"cursor": cursor, "ordering": "created_at"}), "cursor")
    assert_invalid_fields(api.get(LEADS, {"cursor": cursor}), "cursor")
    assert_invalid_fields(other_api.get(APPOINTMENTS, {"cursor": cursor}), "cursor")
    value, signature = cursor.split(":")
    forged = base64.urlsafe_b64encode(b'[2,"x","x"]').decode()
    for changed in (value, f"{value}:", f"x{cursor}", cursor[:-1], f"{forged}:{signature}", "Start", ":", "é", ""):
        assert_invalid_fields(api.get(APPOINTMENTS, {"cursor": changed}), "cursor")


def test_a_cursor_with_a_page_is_400(api: ApiClient) -> None:
    """docs/interface.md, G53"""
    response = api.get(APPOINTMENTS, {"cursor": "start", "page": 1})

    assert_invalid_fields(response, "cursor")
    assert response.json()["message"] == "cursor can't be given together with page"
    assert_invalid_fields(api.get(APPOINTMENTS, {"count": "no"}), "count")


def test_a_cursor_of_one_key_works_with_another_key(
    api: ApiClient, rows: list[str], organization: Organization
) -> None:
    """docs/interface.md, G51"""
    cursor = api.get(APPOINTMENTS, {"cursor": "start", "limit": 2}).json()["pagination"]["nextCursor"]

    assert make_api(organization).get_data(APPOINTMENTS, {"cursor": cursor}) == api.get_data(APPOINTMENTS)[2:]
