"""The statistics of an endpoint's page: success rate and latency over a day and a week."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from foundation.db.timestamps import now
from organizations.models import Organization
from tests.factories import make_api, owner_of
from tests.staff.pages import admin_url, logged_in_client
from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.services import add_endpoint

# Hours before now, duration, error, each of a delivery of its own. The first is too old to count.
ATTEMPTS = [(200, 9_000, "HTTP_500"), (50, 400, ""), (49, 300, "TIMEOUT"), (3, 200, ""), (2, 100, "")]


@pytest.fixture
def endpoint(organization: Organization) -> Endpoint:
    """An endpoint with attempts, beside another one, each of whose attempts is half an hour newer."""
    own, other = (
        add_endpoint(organization=organization, url=f"https://{name}.example/")[0] for name in ("own", "other")
    )
    for number, (hours, duration, error) in enumerate(ATTEMPTS):
        make_api(organization).submit(email=f"lead{number}@example.com")
        attempt(own, hours, duration, error)
        attempt(other, hours - 0.5, duration + 1_000, error)
    return own


def attempt(endpoint: Endpoint, hours: float, duration: int, error: str = "", *, is_retry: bool = False) -> None:
    """Store an attempt at the endpoint's oldest delivery if it is a retry, otherwise at its newest, hours ago."""
    organization, at = endpoint.organization, now() - timedelta(hours=hours)
    deliveries = Delivery.objects.of(organization).filter(endpoint=endpoint)
    delivery = deliveries.earliest("created_at") if is_retry else deliveries.latest("id")
    row = Attempt.objects.create(organization=organization, delivery=delivery, duration_ms=duration, error=error)
    Attempt.objects.of(organization).filter(pk=row.pk).update(created_at=at)
    if not is_retry:
        deliveries.filter(attempts=None).update(created_at=at - timedelta(days=30))
        deliveries.filter(pk=delivery.pk).update(created_at=at)


def statistics(client: Client, endpoint: Endpoint) -> list[list[str]]:
    """Return the texts of the table's cells."""
    page = client.get(admin_url(Endpoint, "change", endpoint.pk)).content.decode()
    table = page.split("95th percentile")[1].split("</table>")[0]
    return [
        [" ".join(re.sub("<[^>]+>", " ", cell).split()) for cell in row.split("</td>")[:-1]]
        for row in table.split("<tr>")[1:]
    ]


def test_statistics_are_of_the_endpoints_attempts_of_a_day_and_a_week(organization: Organization, endpoint: Endpoint):
    owner = logged_in_client(owner_of(organization))

    assert statistics(owner, endpoint) == [
        ["Last 24 hours", "2", "100 %", "150 ms", "195 ms"],
        ["Last 7 days", "4", "75 %", "250 ms", "385 ms"],
    ]


def test_of_many_attempts_those_of_the_newest_deliveries_count_and_the_newest_of_the_organization(
    organization: Organization, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("staff.connections.health.MAX_LOOKED_AT", 2)
    owner = logged_in_client(owner_of(organization))
    before = statistics(owner, endpoint)

    attempt(endpoint, 1, 300, is_retry=True)

    assert [row[:4] for row in before] == [
        ["Last 24 hours", "2", "100 %", "150 ms"],
        ["Last 7 days", "2", "100 %", "150 ms"],
    ]
    assert [row[:4] for row in statistics(owner, endpoint)] == [
        ["Last 24 hours", "3", "100 %", "200 ms"],
        ["Last 7 days", "3", "100 %", "200 ms"],
    ]


def test_both_periods_are_read_by_one_statement(organization: Organization, endpoint: Endpoint):
    owner = logged_in_client(owner_of(organization))

    with CaptureQueriesContext(connection) as captured:
        statistics(owner, endpoint)

    assert len([query for query in captured if "percentile_cont" in query["sql"]]) == 1


def test_an_endpoint_without_attempts_of_the_week_has_no_rates(organization: Organization, endpoint: Endpoint):
    Attempt.objects.of(organization).update(created_at=now() - timedelta(days=8))
    owner = logged_in_client(owner_of(organization))

    assert statistics(owner, endpoint) == [
        ["Last 24 hours", "0", "–", "–", "–"],
        ["Last 7 days", "0", "–", "–", "–"],
    ]


@pytest.mark.parametrize(("was_sent", "text"), [(False, "Nothing has been sent yet."), (True, "No recent attempts")])
def test_an_endpoint_without_attempts_among_those_looked_at_says_so(
    was_sent: bool, text: str, organization: Organization, endpoint: Endpoint
):
    Attempt.objects.of(organization).delete()
    Endpoint.objects.of(organization).update(last_success_at=now() if was_sent else None, failing_since=None)

    page = logged_in_client(owner_of(organization)).get(admin_url(Endpoint, "change", endpoint.pk)).content.decode()

    assert text in page
