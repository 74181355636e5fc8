"""Tasks that every worker starts from time to time: several workers do no harm, and Redis may be away."""

import signal
from datetime import timedelta

import pytest

from foundation.db.timestamps import now
from notifications.models import Notification
from organizations.models import Organization
from tests.faults.backlog import all_delivered, make_backlog, make_endpoint
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for
from webhooks.models import Endpoint

BACKLOG = 10
DIGESTS = Notification.unscoped.filter(kind="ENDPOINTS_FAILING")


@pytest.fixture
def failing(organization: Organization, inbox: FastReceiver) -> Endpoint:
    """Create an endpoint that has failed for two days, so a periodic task notifies the owners."""
    endpoint = make_endpoint(organization, inbox.url("hang"))
    Endpoint.unscoped.filter(pk=endpoint.pk).update(failing_since=now() - timedelta(days=2), failures=9)
    return endpoint


def test_two_workers_do_periodic_work_once(
    stack: Stack, organization: Organization, inbox: FastReceiver, failing: Endpoint
) -> None:
    workers = ["frequent_worker-1", "frequent_worker-2"]
    endpoint = make_endpoint(organization, inbox.url("ok"))
    stack.start(*workers)
    wait_for(lambda: DIGESTS.exists())

    make_backlog(endpoint, BACKLOG, age=timedelta(hours=1))
    wait_for(lambda: all_delivered(endpoint))
    for worker in workers:
        stack.kill(worker, signal.SIGTERM)
    assert [stack.wait_for_exit(worker) for worker in workers] == [0, 0]  # every task that has begun is finished

    assert inbox.counts("ok").total() == BACKLOG
    assert DIGESTS.count() == 1


def test_periodic_tasks_begin_when_redis_is_back(stack: Stack, failing: Endpoint) -> None:
    stack.stop_redis()
    stack.start("frequent_worker")

    stack.start_redis()

    wait_for(lambda: DIGESTS.exists())


def test_a_worker_that_waits_for_redis_stops(stack: Stack) -> None:
    stack.stop_redis()
    stack.start("frequent_worker")
    wait_for(lambda: "Cannot connect" in (stack.folder / "frequent_worker.log").read_text())

    stack.kill("frequent_worker", signal.SIGTERM)

    assert stack.wait_for_exit("frequent_worker") == 0
