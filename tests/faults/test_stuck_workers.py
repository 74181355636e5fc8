"""A worker that is there and does nothing, an hour without beat: nothing is lost, and health tells."""

import signal
from datetime import timedelta

from notifications.models import Notification
from organizations.models import Organization
from pipeline_backend.db.timestamps import now
from pipeline_backend.outbox import State
from tests.client import ApiClient
from tests.factories import make_organization
from tests.faults.backlog import all_delivered, make_backlog, make_endpoint
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for
from webhooks.models import Delivery, Endpoint

WELL = (200, {"status": "ok"})
BOOKINGS, BEATS = 10, 2


def test_a_worker_that_is_there_but_stands_still_turns_health_red_and_loses_nothing(
    short_lease_stack: Stack, organization: Organization, api: ApiClient, inbox: FastReceiver
) -> None:
    short_lease_stack.settings["HEALTH_BACKLOG_SECONDS"] = "2"
    endpoint = make_endpoint(organization, inbox.url("ok"))
    short_lease_stack.start("web", "worker")
    assert short_lease_stack.book(str(api.key), external_reference="before")[0] == 201
    wait_for(lambda: all_delivered(endpoint), seconds=30)
    assert short_lease_stack.get("/healthz") == WELL

    short_lease_stack.kill("worker", signal.SIGSTOP)
    assert short_lease_stack.book(str(api.key), external_reference="meanwhile")[0] == 201
    make_backlog(make_endpoint(make_organization("Globex"), inbox.url("ok/2")), 20)
    wait_for(lambda: short_lease_stack.get("/healthz")[0] == 503, seconds=20)
    code, answer = short_lease_stack.get("/healthz")
    assert (code, answer["message"].partition(" have been due ")[0]) == (503, "Webhook deliveries and notifications")
    assert short_lease_stack.get("/readyz") == WELL
    assert short_lease_stack.get("/api/external/appointments", str(api.key))[0] == 200

    short_lease_stack.start("worker-2")
    wait_for(lambda: short_lease_stack.get("/healthz")[0] == 200, seconds=30)
    wait_for(inbox.has_received(3 + 20), seconds=10)
    assert set(inbox.counts().values()) == {1}


def test_a_worker_whose_pool_is_stuck_delivers_by_its_own_loop(
    stack: Stack, organization: Organization, api: ApiClient, inbox: FastReceiver
) -> None:
    make_endpoint(organization, inbox.url("ok"))
    stack.start("web")
    stack.start("crashing_worker", arguments="with_stuck_pool")

    for number in range(BOOKINGS):
        assert stack.book(str(api.key), external_reference=f"ref-{number}")[0] == 201

    wait_for(inbox.has_received(BOOKINGS + 1), seconds=30)
    wait_for(lambda: set(Notification.unscoped.values_list("state", flat=True)) == {State.DONE.value}, seconds=30)
    assert inbox.counts().total() == BOOKINGS + 1


def test_what_was_due_while_beat_was_away_for_an_hour_is_done_once_without_it_and_with_two_of_them(
    stack: Stack, organization: Organization, inbox: FastReceiver
) -> None:
    endpoint = make_endpoint(organization, inbox.url("ok"))
    failing = make_endpoint(organization, inbox.url("hang"))
    Endpoint.unscoped.filter(pk=failing.pk).update(failing_since=now() - timedelta(days=2), failures=9)
    digests = Notification.unscoped.filter(kind="ENDPOINTS_FAILING")

    pile_of_an_hour_ago(endpoint)
    stack.start("worker")
    wait_for(lambda: all_delivered(endpoint), seconds=30)
    assert not digests.exists()  # that is beat's

    pile_of_an_hour_ago(endpoint)
    for _ in range(BEATS):
        stack.send_task("webhooks.send_endpoint_digest")  # each of them, the moment it is back
    stack.start(*(f"beat-{number}" for number in range(BEATS)))
    wait_for(lambda: all_delivered(endpoint) and digests.exists(), seconds=30)
    stack.kill("worker", signal.SIGTERM)
    assert stack.wait_for_exit("worker", seconds=30) == 0  # it has finished what it had begun

    assert inbox.counts("ok").total() == 2 * BOOKINGS
    assert digests.count() == 1


def pile_of_an_hour_ago(endpoint: Endpoint) -> None:
    """Events that nobody has announced since."""
    rows = make_backlog(endpoint, BOOKINGS)
    Delivery.unscoped.filter(pk__in=[row.pk for row in rows]).update(next_attempt_at=now() - timedelta(hours=1))
