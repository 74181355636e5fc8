"""What the figures of `/metrics` say (docs/metrics.md)."""

import logging
import re
import socket
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from foundation.db.timestamps import now
from foundation.metrics.exposition import serve
from foundation.outbox import run_group
from organizations.models import Organization
from pipeline_backend.tasks import deliver_due
from tests.factories import make_organization
from tests.faults.backlog import make_backlog, make_endpoint
from tests.receiver import Receiver
from webhooks.models import Endpoint
from webhooks.queue import DELIVERIES, SLOW_AFTER_TIMEOUTS

TOKEN = "test-token-0123456789"
JOBS = 3
OVERDUE = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _settings(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr("pipeline_backend.web.metrics.MAX_SECONDS", 60)  # also on a busy machine
    settings.WEBHOOKS_ALLOW_PRIVATE = True


@pytest.fixture
def organization(db: None) -> Organization:
    return make_organization()


@pytest.fixture
def endpoint(organization: Organization) -> Endpoint:
    """Create an endpoint with jobs that have been due for an hour."""
    endpoint = make_endpoint(organization, "http://127.0.0.1:9/hook")
    make_backlog(endpoint, JOBS, age=OVERDUE)
    return endpoint


def read() -> dict[str, float]:
    """Return the value of each series of a scrape."""
    response = Client().get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
    return {name: float(value) for name, value in re.findall(r"^(pipeline_.+) (\S+)$", response.text, re.MULTILINE)}


def series(name: str, **labels: str) -> str:
    """Return a series as Prometheus writes it."""
    pairs = ",".join(f'{label}="{value}"' for label, value in sorted(labels.items()))
    return f"{name}{{{pairs}}}"


def due(lane: str) -> tuple[float, bool]:
    """Return how many jobs are due in a lane, and whether the oldest has been for as long as the test made it."""
    figures = read()
    age = figures[series("pipeline_queue_oldest_due_seconds", queue="webhooks", lane=lane)]
    return figures[series("pipeline_queue_due_jobs", queue="webhooks", lane=lane)], age >= OVERDUE.total_seconds()


def is_stalled() -> bool:
    return bool(read()[series("pipeline_queue_stalled", queue="webhooks")])


def test_the_backlog_is_counted_by_lane_up_to_a_limit(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (due("fast"), due("slow"), is_stalled()) == ((JOBS, True), (0, False), True)

    Endpoint.unscoped.update(timeouts=SLOW_AFTER_TIMEOUTS)
    assert (due("fast"), due("slow"), is_stalled()) == ((0, False), (JOBS, True), False)

    # A receiver that a limit has paused gets nothing, whatever the workers do.
    Endpoint.unscoped.update(timeouts=0, paused_until=now() + OVERDUE)
    assert (due("fast"), due("slow"), is_stalled()) == ((0, False), (0, False), False)

    Endpoint.unscoped.update(paused_until=None)
    monkeypatch.setattr("pipeline_backend.web.metrics.MAX_COUNT", JOBS - 1)
    assert due("fast") == (JOBS - 1, True)


def test_endpoints_are_counted_by_state(endpoint: Endpoint, organization: Organization) -> None:
    def states() -> list[float]:
        figures = read()
        return [
            figures[series("pipeline_webhook_endpoints", state=state)] for state in ("working", "failing", "disabled")
        ]

    other = make_endpoint(make_organization("Globex"), "http://127.0.0.1:9/other")
    assert states() == [2, 0, 0]

    Endpoint.unscoped.filter(pk=endpoint.pk).update(failing_since=now())
    assert states() == [1, 1, 0]

    Endpoint.unscoped.filter(pk=endpoint.pk).update(is_active=False)
    assert states() == [1, 0, 1]

    other.organization.is_active = False
    other.organization.save()
    assert states() == [0, 0, 1]


@pytest.mark.django_db(transaction=True)
def test_attempts_are_counted_by_outcome_and_a_pause_by_its_limit(settings: Any) -> None:
    settings.WEBHOOKS_PER_HOST_PER_MINUTE = JOBS - 1
    limit = series("pipeline_limits_exceeded_total", limit="webhooks")
    with Receiver(status_codes=[204, 500]) as receiver:
        endpoint = make_endpoint(make_organization(), receiver.url)
        make_backlog(endpoint, JOBS)
        before = read()
        run_group(DELIVERIES, endpoint.pk)

    after = read()
    names = [
        series("pipeline_delivery_attempts_total", queue="webhooks", outcome=name) for name in ("delivered", "failed")
    ]
    assert [after.get(name, 0) - before.get(name, 0) for name in names] == [1, 1]
    assert after[limit] == before.get(limit, 0) + 1
    claimed = series("pipeline_delivery_claim_delay_seconds_count", queue="webhooks")
    assert after[claimed] == before.get(claimed, 0) + JOBS - 1


def test_tasks_are_counted_by_outcome(endpoint: Endpoint) -> None:
    failed = series("pipeline_tasks_total", task=deliver_due.name, outcome="failure")
    before = read()

    deliver_due.apply(("webhooks.delivery", "no id"))

    after = read()
    assert after[failed] == before.get(failed, 0) + 1
    succeeded = series("pipeline_task_last_success_timestamp_seconds", task=deliver_due.name)
    assert after.get(succeeded) == before.get(succeeded)


def test_a_worker_whose_address_is_taken_says_so_and_goes_on(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, caplog.at_level(logging.ERROR):
        settings.METRICS_ADDRESS = f"127.0.0.1:{taken.getsockname()[1]}"
        serve()

    assert [record.getMessage() for record in caplog.records] == [
        f"METRICS_ADDRESS {settings.METRICS_ADDRESS}: Address already in use; this worker can't be scraped"
    ]
