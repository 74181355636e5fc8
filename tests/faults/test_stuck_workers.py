"""A paused or stuck worker, and an hour without beat: nothing is lost, and the health check reports it."""

import signal
from datetime import timedelta

from foundation.db.timestamps import now
from foundation.outbox import State
from notifications.models import Notification
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_organization
from tests.faults.backlog import all_delivered, make_backlog, make_endpoint
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for
from webhooks.models import Endpoint

HEALTHY = (200, {"status": "ok"})
STALE = "Webhook deliveries and notifications have been due for more than 2 seconds, and no worker is processing them"
BOOKINGS, BEATS = 10, 2


def test_a_paused_worker_fails_the_health_check_and_loses_nothing(
    short_lease_stack: Stack, organization: Organization, api: ApiClient, inbox: FastReceiver
) -> None:
    stack, key = short_lease_stack, str(api.key)
    stack.overrides["HEALTH_BACKLOG_SECONDS"] = 2
    endpoint = make_endpoint(organization, inbox.url("ok"))
    stack.start("web", "worker")
    assert stack.book(key, external_reference="before")[0] == 201
    wait_for(lambda: all_delivered(endpoint))
    wait_for(lambda: stack.get("/healthz") == HEALTHY)

    stack.kill("worker", signal.SIGSTOP)
    assert stack.book(key, external_reference="meanwhile")[0] == 201
    make_backlog(make_endpoint(make_organization("Globex"), inbox.url("ok/2")), 20)
    wait_for(lambda: stack.get("/healthz") == (503, {"status": "error", "message": STALE}))
    assert stack.get("/readyz") == HEALTHY
    assert stack.get("/api/external/appointments", key)[0] == 200

    stack.start("worker-2")
    wait_for(lambda: stack.get("/healthz")[0] == 200)
    wait_for(inbox.has_received(3 + 20))
    assert set(inbox.counts().values()) == {1}


def test_the_dispatcher_delivers_while_all_task_threads_are_stuck(
    stack: Stack, organization: Organization, api: ApiClient, inbox: FastReceiver
) -> None:
    make_endpoint(organization, inbox.url("ok"))
    stack.start("web")
    stack.start("crashing_worker", arguments="WithStuckPool")

    for number in range(BOOKINGS):
        assert stack.book(str(api.key), external_reference=f"ref-{number}")[0] == 201

    wait_for(inbox.has_received(BOOKINGS + 1))
    wait_for(lambda: set(Notification.unscoped.values_list("state", flat=True)) == {State.DONE.value})
    assert inbox.counts().total() == BOOKINGS + 1


def test_after_an_hour_without_beat_due_work_is_done_once_without_beat_and_with_two(
    stack: Stack, organization: Organization, inbox: FastReceiver
) -> None:
    endpoint = make_endpoint(organization, inbox.url("ok"))
    failing = make_endpoint(organization, inbox.url("hang"))
    Endpoint.unscoped.filter(pk=failing.pk).update(failing_since=now() - timedelta(days=2), failures=9)
    digests = Notification.unscoped.filter(kind="ENDPOINTS_FAILING")

    make_backlog(endpoint, BOOKINGS, age=timedelta(hours=1))
    stack.start("worker")
    wait_for(lambda: all_delivered(endpoint))
    assert not digests.exists()  # only beat starts the digest

    make_backlog(endpoint, BOOKINGS, age=timedelta(hours=1))
    for _ in range(BEATS):
        stack.send_task("webhooks.send_endpoint_digest")  # as each beat does when it is started again
    stack.start(*(f"beat-{number}" for number in range(BEATS)))
    wait_for(lambda: all_delivered(endpoint) and digests.exists())
    stack.kill("worker", signal.SIGTERM)
    assert stack.wait_for_exit("worker") == 0  # so every task that has begun is finished

    assert inbox.counts("ok").total() == 2 * BOOKINGS
    assert digests.count() == 1
