"""`/healthz` tells of work that nobody takes up, whatever processes there are; `/readyz` only of the web server."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from notifications.models import Notification
from organizations.models import Organization
from pipeline_backend.db.timestamps import now
from tests.client import ApiClient
from tests.commands.runner import command_error, run
from tests.faults.backlog import make_backlog, make_endpoint
from webhooks.models import Delivery, Endpoint
from webhooks.queue import DELIVERIES, SLOW_AFTER_TIMEOUTS
from webhooks.services import change_endpoint

WELL = (200, {"status": "ok"})
LATE = timedelta(hours=1)
WAITING = "Webhook deliveries have been due for more than 300 seconds, and no worker is processing them"


@pytest.fixture
def _an_hour_late(organization: Organization, settings: Any) -> None:
    """Six events that were due an hour ago."""
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    make_backlog(make_endpoint(organization, "http://127.0.0.1:9/hook"), 6)
    Delivery.unscoped.update(next_attempt_at=now() - LATE)


def health() -> tuple[int, Any]:
    answer = Client().get("/healthz")
    return answer.status_code, answer.json()


def test_all_is_well_with_nothing_to_do_and_with_work_that_came_just_now(
    organization: Organization, settings: Any
) -> None:
    settings.WEBHOOKS_ALLOW_PRIVATE = True
    assert health() == WELL

    make_backlog(make_endpoint(organization, "http://127.0.0.1:9/hook"), 6)

    assert health() == WELL
    assert run("health").out == "All is well.\n"


@pytest.mark.usefixtures("_an_hour_late")
def test_deliveries_that_nobody_takes_up_are_told_in_one_sentence_that_names_no_tenant() -> None:
    answer = Client().get("/healthz")

    assert (answer.status_code, answer.json()) == (503, {"status": "error", "message": WAITING})
    assert (answer.headers["Content-Type"], answer.headers["Retry-After"]) == ("application/json", "5")
    assert command_error("health") == WAITING
    assert Client().get("/readyz").status_code == 200


def test_mails_that_nobody_takes_up_are_told_too(api: ApiClient) -> None:
    api.book()
    Notification.unscoped.update(next_attempt_at=now() - LATE)

    assert (
        health()[1]["message"]
        == "Notifications have been due for more than 300 seconds, and no worker is processing them"
    )


@pytest.mark.usefixtures("_an_hour_late")
def test_how_long_is_too_long_is_a_setting(settings: Any) -> None:
    settings.HEALTH_BACKLOG_SECONDS = 2 * LATE.total_seconds()

    assert health() == WELL


@pytest.mark.usefixtures("_an_hour_late")
def test_the_events_of_a_receiver_that_is_at_work_hangs_or_is_switched_off_may_wait(organization: Organization) -> None:
    endpoint = Endpoint.objects.of(organization).get()

    (first, *_) = DELIVERIES.claim(endpoint.pk, 1)
    assert health() == WELL
    Delivery.unscoped.filter(pk=first.pk).update(lease_token=None)
    assert health()[0] == 503

    Endpoint.unscoped.update(timeouts=SLOW_AFTER_TIMEOUTS)
    assert health() == WELL
    Endpoint.unscoped.update(timeouts=0)
    assert health()[0] == 503

    change_endpoint(endpoint=endpoint, url=endpoint.url, description="", types=[], is_active=False)
    assert health() == WELL


@pytest.mark.usefixtures("_an_hour_late")
def test_health_costs_four_questions_and_counts_nothing() -> None:
    with CaptureQueriesContext(connection) as asked:
        health()

    assert len(asked) <= 4
    assert not any("COUNT(" in query["sql"].upper() for query in asked)
