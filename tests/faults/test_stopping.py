"""SIGTERM: a worker finishes what is under way and gives the rest back."""

import signal

import pytest

from organizations.models import Organization
from pipeline_backend.outbox.models import State
from tests.faults.backlog import are_done, endpoint_at, leased, pile, states
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for

ENDPOINTS, EVENTS = 4, 20


@pytest.mark.parametrize("has_redis", [True, False], ids=["with Redis", "while Redis is away"])
def test_a_worker_asked_to_end_finishes_what_is_under_way_and_gives_the_rest_back(
    stack: Stack, organization: Organization, inbox: FastReceiver, has_redis: bool
) -> None:
    endpoints = [endpoint_at(organization, inbox.url(f"slow/{number}")) for number in range(ENDPOINTS)]
    for endpoint in endpoints:
        pile(endpoint, EVENTS)
    stack.start("worker")
    for endpoint in endpoints:
        stack.send_task("webhooks.drain", str(endpoint.pk))
    wait_for(inbox.has(2 * ENDPOINTS), seconds=30)
    if not has_redis:
        stack.stop_redis()

    stack.kill("worker", signal.SIGTERM)
    code = stack.ending("worker", seconds=20)

    sent = len(inbox.arrivals())
    assert code == 0
    assert sent < ENDPOINTS * EVENTS / 2
    assert leased() == 0
    assert states(*endpoints) == {State.DONE.value: sent, State.PENDING.value: ENDPOINTS * EVENTS - sent}
    if has_redis:
        stack.start("worker-2")
        wait_for(lambda: are_done(*endpoints), seconds=40)  # a lease lasts longer
        assert set(inbox.times().values()) == {1}
