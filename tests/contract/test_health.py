"""/healthz reports overdue work that no worker takes; /readyz reports on the web server only."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from time_machine import Traveller

from foundation.db.timestamps import now
from notifications.models import Notification
from organizations.models import Organization
from tests.client import ApiClient
from tests.commands.runner import command_error, run
from tests.faults.backlog import make_backlog, make_endpoint
from tests.shared_rows import clear_caches
from webhooks.models import Delivery, Endpoint
from webhooks.queue import DELIVERIES, SLOW_AFTER_TIMEOUTS
from webhooks.services import change_endpoint

HEALTHY = (200, {"status": "ok"})
OVERDUE = timedelta(hours=1)
STALE_DELIVERIES = "Webhook deliveries have been due for more than 300 seconds, and no worker is processing them"


@pytest.fixture
def _overdue_deliveries(organization: Organization, settings: Any) -> None:
    """Create six deliveries that were due an hour ago."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    make_backlog(make_endpoint(organization, "http://127.0.0.1:9/hook"), 6)
    Delivery.unscoped.update(next_attempt_at=now() - OVERDUE)


def get_health() -> tuple[int, Any]:
    """Return the answer, made anew."""
    clear_caches()
    response = Client().get("/healthz")
    return response.status_code, response.json()


def test_health_is_ok_without_work_and_with_recent_work(organization: Organization, settings: Any) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    assert get_health() == HEALTHY

    make_backlog(make_endpoint(organization, "http://127.0.0.1:9/hook"), 6)

    assert get_health() == HEALTHY
    assert run("health").out == "No problems found.\n"


@pytest.mark.usefixtures("_overdue_deliveries")
def test_overdue_deliveries_are_reported_without_naming_an_organization() -> None:
    response = Client().get("/healthz")

    assert (response.status_code, response.json()) == (503, {"status": "error", "message": STALE_DELIVERIES})
    assert (response.headers["Content-Type"], response.headers["Retry-After"]) == ("application/json", "5")
    assert command_error("health") == STALE_DELIVERIES
    assert Client().get("/readyz").status_code == 200


def test_overdue_notifications_are_reported(api: ApiClient) -> None:
    api.book()
    Notification.unscoped.update(next_attempt_at=now() - OVERDUE)

    status_code, body = get_health()

    assert status_code == 503
    assert body["message"] == "Notifications have been due for more than 300 seconds, and no worker is processing them"


@pytest.mark.usefixtures("_overdue_deliveries")
def test_the_age_of_overdue_work_is_a_setting(settings: Any) -> None:
    settings.HEALTH_BACKLOG_SECONDS = 2 * OVERDUE.total_seconds()

    assert get_health() == HEALTHY


@pytest.mark.usefixtures("_overdue_deliveries")
def test_deliveries_to_a_leased_slow_or_disabled_endpoint_are_not_overdue(organization: Organization) -> None:
    endpoint = Endpoint.objects.of(organization).get()

    # A worker holds a lease: the others wait for it.
    batch = DELIVERIES.claim(endpoint.pk)
    assert batch
    DELIVERIES.release(batch, batch.jobs[1:])
    Delivery.unscoped.filter(pk__in=[job.pk for job in batch.jobs[1:]]).update(next_attempt_at=now() - OVERDUE)
    assert get_health() == HEALTHY
    Delivery.unscoped.filter(pk=batch.jobs[0].pk).update(lease_token=None)
    assert get_health()[0] == 503

    # A slow endpoint is served one attempt at a time.
    Endpoint.unscoped.update(timeouts=SLOW_AFTER_TIMEOUTS)
    assert get_health() == HEALTHY
    Endpoint.unscoped.update(timeouts=0)
    assert get_health()[0] == 503

    # Deliveries to a disabled endpoint wait until it is enabled.
    change_endpoint(endpoint=endpoint, url=endpoint.url, description="", event_types=[], is_active=False)
    assert get_health() == HEALTHY


@pytest.mark.usefixtures("_overdue_deliveries")
def test_health_takes_one_statement_which_counts_nothing() -> None:
    with CaptureQueriesContext(connection) as queries:
        get_health()

    (query,) = queries
    assert "COUNT(" not in query["sql"].upper()


@pytest.mark.usefixtures("_overdue_deliveries")
def test_an_answer_is_kept_for_a_second_however_many_ask(stopped_clock: Traveller) -> None:
    def ask() -> list[int]:
        return [Client().get("/healthz").status_code for _ in range(20)]

    with CaptureQueriesContext(connection) as queries:
        assert ask() == [503] * 20
    assert len(queries) == 1

    Delivery.unscoped.update(next_attempt_at=now())
    assert ask() == [503] * 20
    stopped_clock.shift(1)
    assert ask() == [200] * 20


@pytest.mark.usefixtures("db")
def test_while_one_asks_others_get_the_last_answer_without_a_query(stopped_clock: Traveller) -> None:
    other_answers: list[int] = []
    queries: list[str] = []

    def ask_in_between(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        queries.append(sql)
        if not other_answers:
            other_answers.append(0)
            other_answers.append(Client().get("/healthz").status_code)
            assert queries == [sql]
        return execute(sql, *arguments)

    assert get_health() == HEALTHY
    stopped_clock.shift(3)
    with connection.execute_wrapper(ask_in_between):
        assert Client().get("/healthz").status_code == 200

    assert (other_answers, len(queries)) == ([0, 200], 1)
