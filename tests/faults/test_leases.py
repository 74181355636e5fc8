"""A worker that returns after its lease has ended may have sent, but changes nothing any more."""

import signal
import threading

from foundation.db.timestamps import now
from foundation.outbox import State
from organizations.models import Organization
from tests.faults.backlog import all_delivered, make_backlog, make_endpoint
from tests.faults.stack import Stack, wait_for
from tests.receiver import Receiver
from webhooks.models import Attempt, Delivery, Endpoint


def attempts_of(delivery: Delivery) -> list[tuple[int | None, bool]]:
    """Return each attempt's status code and whether it came too late to count; late ones last."""
    attempts = Attempt.unscoped.filter(delivery=delivery).order_by("is_stale")
    return list(attempts.values_list("status_code", "is_stale"))


def assert_delivered_once(delivery: Delivery, endpoint: Endpoint) -> None:
    """Check that the rows show one success and nothing else."""
    delivery.refresh_from_db()
    endpoint.refresh_from_db()
    assert (delivery.state, delivery.attempt_count, delivery.last_error) == (State.DONE, 1, "")
    assert endpoint.failures == 0


def test_a_worker_paused_past_its_lease_does_not_overwrite_what_another_has_delivered(
    short_lease_stack: Stack, organization: Organization, receiver: Receiver
) -> None:
    stack = short_lease_stack
    receiver.status_codes = [204, 204]
    receiver.on_request = lambda number: number == 1 and stack.kill("worker", signal.SIGSTOP)
    endpoint = make_endpoint(organization, receiver.url)
    [delivery] = make_backlog(endpoint, 1)

    stack.start("worker")
    wait_for(lambda: receiver.requests)
    stack.start("worker-2")
    wait_for(lambda: all_delivered(endpoint))
    delivery.refresh_from_db()
    finished_at = delivery.finished_at
    stack.kill("worker", signal.SIGCONT)
    wait_for(lambda: len(attempts_of(delivery)) == 2)

    assert_delivered_once(delivery, endpoint)
    assert delivery.finished_at == finished_at
    assert [is_stale for _, is_stale in attempts_of(delivery)] == [False, True]
    assert receiver.requests[0].headers["webhook-id"] == receiver.requests[1].headers["webhook-id"]


def test_a_worker_that_returns_while_another_sends_does_not_take_its_lease(
    stack: Stack, organization: Organization, receiver: Receiver
) -> None:
    is_stored = threading.Event()
    actions = {
        1: lambda: stack.kill("worker", signal.SIGSTOP),
        2: lambda: (stack.kill("worker", signal.SIGCONT), is_stored.wait(60)),
    }
    stack.overrides |= {"DELIVERY_DEADLINE_SECONDS": 100, "DELIVERY_LEASE_SECONDS": 300}
    receiver.status_codes, receiver.on_request = [500, 204], lambda number: actions[number]()
    endpoint = make_endpoint(organization, receiver.url)
    [delivery] = make_backlog(endpoint, 1)

    stack.start("worker")
    wait_for(lambda: receiver.requests)
    Delivery.unscoped.update(next_attempt_at=now())  # end the lease
    stack.start("worker-2")
    wait_for(lambda: attempts_of(delivery))
    is_stored.set()
    wait_for(lambda: all_delivered(endpoint))

    assert_delivered_once(delivery, endpoint)
    assert attempts_of(delivery) == [(204, False), (500, True)]
