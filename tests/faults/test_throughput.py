"""How much one worker gets done; the figures stand at the end of the run."""

import time
from collections.abc import Callable

from redis import Redis

from organizations.models import Organization
from tests.faults.backlog import make_backlog, make_endpoint
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack

EVENTS, ENDPOINTS, TASKS = 8000, 16, 3000
NO_OP = "celery.accumulate"


def test_one_worker_delivers_all_there_is_and_drains_as_many_tasks_that_do_nothing(
    stack: Stack, organization: Organization, inbox: FastReceiver, measurements: dict[str, str]
) -> None:
    endpoints = [make_endpoint(organization, inbox.url(f"ok/{number}")) for number in range(ENDPOINTS)]
    for endpoint in endpoints:
        make_backlog(endpoint, EVENTS // ENDPOINTS)
        stack.send_task("webhooks.deliver_due", str(endpoint.pk))
    stack.start("worker")
    events = measure_rate(lambda: len(inbox.arrivals()), EVENTS)
    stack.kill("worker")
    stack.flush_redis()  # what it has not acknowledged

    for _ in range(TASKS):
        stack.send_task(NO_OP)
    with Redis.from_url(stack.redis_url) as redis:
        stack.start("worker")
        tasks = measure_rate(lambda: TASKS - redis.llen("celery") - redis.hlen("unacked"), TASKS)

    assert len(inbox.counts()) == EVENTS
    measurements["one worker"] = (
        f"{events:.0f} events a second, {tasks:.0f} Celery tasks that do nothing, ratio {events / tasks:.2f}"
    )


def measure_rate(done: Callable[[], int], count: int) -> float:
    """How many a second, from the first twentieth to the last; bounded in time."""
    seen: list[tuple[float, int]] = []
    until = time.monotonic() + 120
    while not seen or seen[-1][1] < count:
        assert time.monotonic() < until, seen[-1]
        seen.append((time.monotonic(), done()))
        time.sleep(0.02)
    steady = [(at, number) for at, number in seen if 0.05 * count <= number <= 0.95 * count]
    return (steady[-1][1] - steady[0][1]) / (steady[-1][0] - steady[0][0])
