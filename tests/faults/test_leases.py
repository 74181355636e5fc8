"""A worker that was away longer than its lease may have sent, but changes nothing any more."""

import signal
import threading

from organizations.models import Organization
from pipeline_backend.db.timestamps import now
from pipeline_backend.outbox import State
from tests.faults.backlog import all_delivered, make_backlog, make_endpoint
from tests.faults.stack import Stack, wait_for
from tests.receiver import Receiver
from webhooks.models import Attempt, Delivery, Endpoint


def tries(delivery: Delivery) -> list[tuple[int | None, bool]]:
    """Each attempt's status, and whether it came too late to count, which stands last."""
    return list(Attempt.unscoped.filter(delivery=delivery).order_by("is_stale").values_list("status_code", "is_stale"))


def assert_delivered_once(delivery: Delivery, endpoint: Endpoint) -> None:
    """The row tells of the success alone."""
    delivery.refresh_from_db()
    endpoint.refresh_from_db()
    assert (delivery.state, delivery.attempt_count, delivery.last_error) == (State.DONE, 1, "")
    assert endpoint.failures == 0


def test_a_worker_stopped_past_its_lease_does_not_overwrite_what_another_has_delivered(
    short_lease_stack: Stack, organization: Organization, receiver: Receiver
) -> None:
    receiver.status_codes = [204, 204]
    receiver.on_request = lambda number: number == 1 and short_lease_stack.kill("worker", signal.SIGSTOP)
    endpoint = make_endpoint(organization, receiver.url)
    delivery = make_backlog(endpoint, 1)[0]

    short_lease_stack.start("worker")
    wait_for(lambda: receiver.requests, seconds=30)
    short_lease_stack.start("worker-2")
    wait_for(lambda: all_delivered(endpoint), seconds=30)
    delivery.refresh_from_db()
    finished_at = delivery.finished_at
    short_lease_stack.kill("worker", signal.SIGCONT)
    wait_for(lambda: len(tries(delivery)) == 2, seconds=10)

    assert_delivered_once(delivery, endpoint)
    assert delivery.finished_at == finished_at
    assert [is_stale for _, is_stale in tries(delivery)] == [False, True]
    assert receiver.requests[0].headers["webhook-id"] == receiver.requests[1].headers["webhook-id"]


def test_a_worker_that_comes_back_while_another_sends_leaves_it_its_lease(
    stack: Stack, organization: Organization, receiver: Receiver
) -> None:
    is_written = threading.Event()
    acts = {
        1: lambda: stack.kill("worker", signal.SIGSTOP),
        2: lambda: (stack.kill("worker", signal.SIGCONT), is_written.wait(10)),
    }
    receiver.status_codes, receiver.on_request = [500, 204], lambda number: acts[number]()
    endpoint = make_endpoint(organization, receiver.url)
    delivery = make_backlog(endpoint, 1)[0]

    stack.start("worker")
    wait_for(lambda: receiver.requests, seconds=30)
    Delivery.unscoped.update(next_attempt_at=now())  # the lease is over
    stack.start("worker-2")
    wait_for(lambda: tries(delivery), seconds=30)
    is_written.set()
    wait_for(lambda: all_delivered(endpoint), seconds=10)

    assert_delivered_once(delivery, endpoint)
    assert tries(delivery) == [(204, False), (500, True)]
