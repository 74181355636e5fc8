"""A paused or stuck worker: nothing is lost, and the health check reports it."""

import signal

from foundation.outbox import State
from notifications.models import Notification
from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import make_organization
from tests.faults.backlog import all_delivered, make_backlog, make_endpoint
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for

HEALTHY = (200, {"status": "ok"})
STALE = "Webhook deliveries and notifications have been due for more than 2 seconds, and no worker is processing them"
BOOKINGS = 10


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
