"""SIGTERM: a worker finishes what it is sending and releases the rest."""

import signal

import pytest

from foundation.outbox import State
from organizations.models import Organization
from tests.faults.backlog import all_delivered, count_by_state, count_leased, make_backlog, make_endpoint
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for

ENDPOINTS, EVENTS = 4, 200  # too many for the seconds that the test takes


@pytest.mark.parametrize("has_redis", [True, False], ids=["with Redis", "while Redis is unavailable"])
def test_a_worker_that_is_shut_down_finishes_what_it_is_sending_and_releases_the_rest(
    stack: Stack, organization: Organization, inbox: FastReceiver, has_redis: bool
) -> None:
    endpoints = [make_endpoint(organization, inbox.url(f"slow/{number}")) for number in range(ENDPOINTS)]
    for endpoint in endpoints:
        make_backlog(endpoint, EVENTS)
    stack.start("worker")
    for endpoint in endpoints:
        stack.send_task("outbox.deliver_due", "webhooks.delivery", str(endpoint.pk))
    wait_for(inbox.has_received(2 * ENDPOINTS))
    if not has_redis:
        stack.stop_redis()

    stack.kill("worker", signal.SIGTERM)
    exit_code = stack.wait_for_exit("worker")

    sent = len(inbox.arrivals())
    assert exit_code == 0
    assert sent < ENDPOINTS * EVENTS
    assert count_leased() == 0
    assert count_by_state(*endpoints) == {State.DONE.value: sent, State.PENDING.value: ENDPOINTS * EVENTS - sent}
    if has_redis:
        stack.start("worker-2")
        wait_for(lambda: all_delivered(*endpoints), seconds=50)  # less than a lease: nothing was left leased
        assert set(inbox.counts().values()) == {1}
