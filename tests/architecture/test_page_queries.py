"""Pages add up to the list, in its order, however the statement finds them: along an index, branch by branch, or across."""

import json
from collections.abc import Iterator
from itertools import count

import pytest

from appointments.models import Appointment
from appointments.services import change_outcome
from organizations.models import Membership, Organization
from pipeline_backend.api import filters, page_queries
from statuses.models import Status
from statuses.services import save_status
from tests.client import ApiClient
from tests.factories import owner_actor

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
ONE_COLUMN = [
    {"closer": "hana@acme.example"},
    {"call_category": "SALES_CALL"},
    {"scheduled_to": "2027-01-08"},
    {"scheduled_from": "2027-01-03", "scheduled_to": "2027-01-08"},
    {"created_to": "2099-01-01"},
]
ORDERINGS = ["-created_at", "created_at", "schedule_time", "-schedule_time", "updated_at"]


# How many rows are few, and how many of them set the bar: all lists are longer than few, some are, or none is.
SHORT = [(0, 7), (6, 2), (7, 7), (100, 2), (100, 9)]


@pytest.fixture(autouse=True, params=SHORT)
def _short_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """So short that some pages lie before a walk's end, some behind, and some on both sides."""
    monkeypatch.setattr(page_queries, "PROBE_ROWS", 3)
    few, sample = request.param
    shorten(monkeypatch, few, sample)
    yield
    filters.plan_page.cache_clear()


def shorten(monkeypatch: pytest.MonkeyPatch, few: int, sample: int) -> None:
    monkeypatch.setattr(page_queries, "SMALL_COUNT", few)
    monkeypatch.setattr(page_queries, "SAMPLE_ROWS", sample)
    filters.plan_page.cache_clear()


@pytest.fixture
def calls(api: ApiClient, organization: Organization, host: Membership) -> list[Appointment]:
    """Twelve calls: two statuses stand for WON, one for LOST."""
    roles = {status.role: status for status in Status.objects.of(organization)}
    second = save_status(organization=organization, status=Status(name="Won again", role="WON"))
    outcomes = [roles["WON"], roles["LOST"], second, None]
    for number in range(12):
        people = {"host_email": host.user.email} if number % 2 else {}
        booked = api.book(
            external_reference=f"ref-{number}", schedule_time=f"2027-01-{(number * 5) % 12 + 1:02}T10:00:00Z", **people
        )
        outcome = outcomes[number % 4]
        if outcome:
            appointment = Appointment.objects.of(organization).get(pk=booked.json()["data"]["id"])
            change_outcome(
                organization=organization,
                actor=owner_actor(organization),
                appointment=appointment,
                status_id=outcome.pk,
            )
    return list(Appointment.objects.of(organization).select_related("outcome", "host__user"))


def wanted(call: Appointment, query: dict[str, str]) -> bool:
    """Whether the filters let it through, said once more in Python."""
    day = call.schedule_time.date().isoformat()
    return (
        (call.outcome is None or "outcome_role" not in query or call.outcome.role in query["outcome_role"].split(","))
        and ("closer" not in query or (call.host is not None and call.host.user.email == query["closer"]))
        and day <= query.get("scheduled_to", "9999")
        and day >= query.get("scheduled_from", "")
    )


def shown(api: ApiClient, query: dict[str, str]) -> Iterator[str]:
    """The ids on all pages, each of which tells the same total."""
    totals = set()
    for page in count(1):
        body = api.get("/api/external/appointments", {**query, "limit": "5", "page": str(page)}).json()
        totals.add(body["pagination"]["total"])
        yield from (one["id"] for one in body["data"])
        if not body["pagination"]["hasNext"]:
            break
    assert len(totals) == 1


@pytest.mark.parametrize("ordering", ORDERINGS)
def test_the_pages_are_the_list_in_its_order(api: ApiClient, calls: list[Appointment], ordering: str) -> None:
    column = ordering.removeprefix("-")
    ordered = sorted(calls, key=lambda call: (getattr(call, column), call.pk), reverse=ordering.startswith("-"))

    found = {json.dumps(query): list(shown(api, {**query, "ordering": ordering})) for query in QUERIES}

    assert found == {json.dumps(query): [str(call.pk) for call in ordered if wanted(call, query)] for query in QUERIES}


@pytest.mark.parametrize("_short_ways", [(0, 2)], indirect=True)
def test_a_total_is_exact_just_below_just_above_and_at_the_number_that_is_few(
    api: ApiClient, calls: list[Appointment], monkeypatch: pytest.MonkeyPatch
) -> None:
    totals = {}
    for few in range(len(calls) + 2):
        shorten(monkeypatch, few, sample=2)
        totals[few] = [
            api.get("/api/external/appointments", {**query, "limit": "1"}).json()["pagination"]["total"]
            for query in ONE_COLUMN
        ]

    assert totals == {few: [6, 12, 8, 6, 12] for few in totals}
