"""`python -m benchmarks.delivering 3000 5`: how many events workers deliver a second, and how many empty Celery tasks one takes; as JSON.

It uses what tests/faults proves the deliveries with: real workers, and a receiver that is a process of its own.
"""

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django

django.setup()

from redis import Redis  # noqa: E402  # after the settings

from pipeline_backend.onboarding import create_organization  # noqa: E402
from tests.faults.backlog import make_backlog, make_endpoint  # noqa: E402
from tests.faults.fast_receiver import FastReceiver  # noqa: E402
from tests.faults.stack import Stack  # noqa: E402
from tests.faults.test_throughput import NO_OP, measure_rate  # noqa: E402
from webhooks.models import Delivery  # noqa: E402

ENDPOINTS = 16
FAR_ENDPOINTS, FAR_EVENTS = 256, 3  # a worker serves 64 at a time


@contextmanager
def worker_and_receiver() -> Iterator[tuple[Stack, FastReceiver]]:
    """Fresh ones for each measurement."""
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder)) as stack, FastReceiver(Path(folder)) as inbox:
        yield stack, inbox


def events_a_second(name: str, kind: str, endpoints: int, events_of_each: int, *workers: str) -> float:
    """From a backlog of events to receivers that answer at once (`ok`) or after 0.3 seconds (`slow`)."""
    organization = create_organization(name=name, owner_email=f"owner@{name}.example").organization
    with worker_and_receiver() as (stack, inbox):
        for number in range(endpoints):
            make_backlog(make_endpoint(organization, inbox.url(f"{kind}/{number}")), events_of_each)
        stack.start(*workers)
        return measure_rate(lambda: len(inbox.arrivals()), endpoints * events_of_each)


def tasks_a_second(count: int) -> float:
    """Messages that are taken from the queue, and nothing done."""
    with worker_and_receiver() as (stack, _), Redis.from_url(stack.redis_url) as redis:
        for _number in range(count):
            stack.send_task(NO_OP)
        stack.start("worker")
        return measure_rate(lambda: count - redis.llen("celery") - redis.hlen("unacked"), count)


def measure(count: int, rounds: int) -> dict[str, list[float]]:
    """All of it in turn."""
    Delivery.unscoped.filter(state="PENDING").delete()  # of the bookings before: their receiver is not there
    found = defaultdict[str, list[float]](list)
    for number in range(rounds):
        found["events"].append(events_a_second(f"near-{number}", "ok", ENDPOINTS, count // ENDPOINTS, "worker"))
        found["tasks"].append(tasks_a_second(count))
        found["events of two"].append(
            events_a_second(f"near-two-{number}", "ok", ENDPOINTS, count // ENDPOINTS, "worker-1", "worker-2")
        )
        found["far events"].append(events_a_second(f"far-{number}", "slow", FAR_ENDPOINTS, FAR_EVENTS, "worker"))
        found["far events of two"].append(
            events_a_second(f"far-two-{number}", "slow", FAR_ENDPOINTS, FAR_EVENTS, "worker-1", "worker-2")
        )
    return found


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))  # noqa: T201
