"""How many deliveries, and how many empty Celery tasks, one worker processes; the end of the run shows the rates."""

import time
from collections.abc import Callable

from redis import Redis

from organizations.models import Organization
from tests.faults.backlog import make_backlog, make_endpoint
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack

EVENTS, ENDPOINTS, TASKS = 8000, 16, 3000
NO_OP = "celery.accumulate"


def test_one_worker_delivers_its_backlog_and_processes_empty_tasks_for_comparison(
    stack: Stack, organization: Organization, inbox: FastReceiver, measurements: dict[str, str]
) -> None:
    endpoints = [make_endpoint(organization, inbox.url(f"ok/{number}")) for number in range(ENDPOINTS)]
    for endpoint in endpoints:
        make_backlog(endpoint, EVENTS // ENDPOINTS)
        stack.send_task("outbox.deliver_due", "webhooks.delivery", str(endpoint.pk))
    stack.start("worker")
    event_rate = measure_rate(lambda: len(inbox.arrivals()), EVENTS)
    stack.kill("worker")
    stack.flush_redis()  # removes messages that the worker has not acknowledged

    for _ in range(TASKS):
        stack.send_task(NO_OP)
    with Redis.from_url(stack.redis_url) as redis:
        stack.start("worker")
        task_rate = measure_rate(lambda: TASKS - redis.llen("celery") - redis.hlen("unacked"), TASKS)

    assert len(inbox.counts()) == EVENTS
    measurements["one worker"] = (
        f"{event_rate:.0f} events a second, {task_rate:.0f} empty Celery tasks, ratio {event_rate / task_rate:.2f}"
    )


def measure_rate(progress: Callable[[], int], total: int) -> float:
    """Return the rate per second between 5 % and 95 % of the total; fail after two minutes."""
    samples: list[tuple[float, int]] = []
    stop_at = time.monotonic() + 120
    while not samples or samples[-1][1] < total:
        assert time.monotonic() < stop_at, samples[-1]
        samples.append((time.monotonic(), progress()))
        time.sleep(0.02)
    steady = [(at, count) for at, count in samples if 0.05 * total <= count <= 0.95 * total]
    return (steady[-1][1] - steady[0][1]) / (steady[-1][0] - steady[0][0])
