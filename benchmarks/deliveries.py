"""`python -m benchmarks.deliveries 3000 5`: measure webhook deliveries per second, as JSON on the last line.

The arguments are the number of events and of rounds. For comparison it also measures how many empty Celery tasks a
worker runs. Workers and receiver are those of the fault tests: real processes, and a receiver faster than any sender.
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

from organizations.models import User  # noqa: E402
from pipeline_backend.onboarding import create_organization  # noqa: E402
from tests.faults.backlog import make_backlog, make_endpoint  # noqa: E402
from tests.faults.fast_receiver import FastReceiver  # noqa: E402
from tests.faults.stack import Stack  # noqa: E402
from tests.faults.test_throughput import NO_OP, measure_rate  # noqa: E402
from webhooks.models import Delivery  # noqa: E402

ENDPOINTS = 16
# A worker serves 64 endpoints at a time, so this many slow ones keep two workers busy.
SLOW_ENDPOINTS, EVENTS_PER_SLOW_ENDPOINT = 256, 3

ONE_WORKER = ["worker"]
TWO_WORKERS = ["worker-1", "worker-2"]


def measure(events: int, rounds: int) -> dict[str, list[float]]:
    """Return the rates of each measurement, one per round."""
    # Bookings of the other suites left deliveries to a receiver that does not exist.
    Delivery.unscoped.filter(state="PENDING").delete()
    per_endpoint = events // ENDPOINTS
    slow = SLOW_ENDPOINTS, EVENTS_PER_SLOW_ENDPOINT
    rates = defaultdict[str, list[float]](list)
    for number in range(rounds):
        rates["one_worker"].append(delivery_rate(f"fast-1-{number}", "ok", ENDPOINTS, per_endpoint, ONE_WORKER))
        rates["celery_tasks"].append(task_rate(events))
        rates["two_workers"].append(delivery_rate(f"fast-2-{number}", "ok", ENDPOINTS, per_endpoint, TWO_WORKERS))
        rates["one_worker_slow_receivers"].append(delivery_rate(f"slow-1-{number}", "slow", *slow, ONE_WORKER))
        rates["two_workers_slow_receivers"].append(delivery_rate(f"slow-2-{number}", "slow", *slow, TWO_WORKERS))
    return rates


def delivery_rate(name: str, receiver: str, endpoints: int, events_per_endpoint: int, workers: list[str]) -> float:
    """Return how many events per second the workers deliver from a backlog of new organizations.

    Each has `ENDPOINTS` endpoints, since an organization can have only a limited number of them. `receiver` is "ok" for
    receivers that respond at once, and "slow" for those that take 0.3 seconds.
    """
    organizations = [
        create_organization(name=f"{name}-{number}", owner=User.objects.create_user(f"owner@{name}-{number}.example"))
        for number in range(endpoints // ENDPOINTS)
    ]
    with run_stack() as (stack, inbox):
        for number in range(endpoints):
            endpoint = make_endpoint(organizations[number // ENDPOINTS], inbox.url(f"{receiver}/{number}"))
            make_backlog(endpoint, events_per_endpoint)
        stack.start(*workers)
        return measure_rate(lambda: len(inbox.arrivals()), endpoints * events_per_endpoint)


def task_rate(count: int) -> float:
    """Return how many Celery tasks per second a worker runs if they do nothing."""
    with run_stack() as (stack, _), Redis.from_url(stack.redis_url) as redis:
        for _number in range(count):
            stack.send_task(NO_OP)
        stack.start("worker")
        return measure_rate(lambda: count - redis.llen("celery") - redis.hlen("unacked"), count)


@contextmanager
def run_stack() -> Iterator[tuple[Stack, FastReceiver]]:
    """Provide a new stack and receiver: each measurement starts with empty queues and fresh workers."""
    with tempfile.TemporaryDirectory() as folder, Stack(Path(folder)) as stack, FastReceiver(Path(folder)) as inbox:
        yield stack, inbox


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))  # noqa: T201
