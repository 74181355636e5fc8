"""`python -m benchmarks.deliveries 3000 5`: measure webhook deliveries per second, as JSON on the last line.

The arguments are the number of events and of rounds. For comparison it also measures how many empty Celery tasks a
worker runs, how many deliveries it makes the ordinary way (`plain_celery`), and the processor time of idle workers.
Workers and receiver are those of the fault tests: real processes, and a receiver faster than any sender.
"""

import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
import psutil

django.setup()

from redis import Redis  # noqa: E402  # after the settings

from accounts.onboarding import create_organization  # noqa: E402
from benchmarks.plain_celery import DELIVER  # noqa: E402
from notifications.models import Notification  # noqa: E402
from organizations.models import User  # noqa: E402
from tests.faults.backlog import make_backlog, make_endpoint  # noqa: E402
from tests.faults.fast_receiver import FastReceiver  # noqa: E402
from tests.faults.stack import COMMANDS, WORKER, Stack  # noqa: E402
from tests.faults.test_throughput import NO_OP, measure_rate  # noqa: E402
from webhooks.models import Delivery  # noqa: E402

ENDPOINTS = 16
# A worker serves 128 endpoints at a time, so this many slow ones keep two workers busy.
SLOW_ENDPOINTS, EVENTS_PER_SLOW_ENDPOINT = 256, 3

EVENTS_FOR_ONE_SLOW_ENDPOINT = 200  # four batches, so that what happens between them counts
IDLE_SECONDS, SECONDS_UNTIL_IDLE = 30, 15

ONE_WORKER = ["worker"]
TWO_WORKERS = ["worker-1", "worker-2"]

# The ordinary way with Celery's default pool: a process for each core.
COMMANDS["plain"] = "celery -q -A benchmarks.plain_celery worker --loglevel warning -n {name}@test"
COMMANDS["bare"] = f"celery -q -A benchmarks.plain_celery {WORKER}"


def measure(events: int, rounds: int) -> dict[str, list[float]]:
    """Return the rates of each measurement, one per round."""
    # Bookings of the other suites left deliveries to a receiver that does not exist, and e-mails.
    for model in (Delivery, Notification):
        model.unscoped.filter(state="PENDING").delete()
    per_endpoint = events // ENDPOINTS
    slow = SLOW_ENDPOINTS, EVENTS_PER_SLOW_ENDPOINT
    rates = defaultdict[str, list[float]](list)
    rates["idle_worker"], rates["idle_bare_worker"] = measure_idle_workers()
    for number in range(rounds):
        rates["one_worker"].append(delivery_rate(f"fast-1-{number}", "ok", ENDPOINTS, per_endpoint, ONE_WORKER))
        rates["celery_tasks"].append(task_rate(events))
        rates["ordinary_way"].append(ordinary_rate(f"plain-{number}", events // 3))
        rates["two_workers"].append(delivery_rate(f"fast-2-{number}", "ok", ENDPOINTS, per_endpoint, TWO_WORKERS))
        rates["one_worker_slow_receivers"].append(delivery_rate(f"slow-1-{number}", "slow", *slow, ONE_WORKER))
        rates["two_workers_slow_receivers"].append(delivery_rate(f"slow-2-{number}", "slow", *slow, TWO_WORKERS))
        rates["one_slow_receiver"].append(
            delivery_rate(f"slow-3-{number}", "slow", 1, EVENTS_FOR_ONE_SLOW_ENDPOINT, ONE_WORKER)
        )
    return rates


def delivery_rate(name: str, receiver: str, endpoints: int, events_per_endpoint: int, workers: list[str]) -> float:
    """Return how many events per second the workers deliver from a backlog of new organizations.

    Each has up to `ENDPOINTS` endpoints, since an organization can have only a limited number of them. `receiver` is
    "ok" for receivers that respond at once, and "slow" for those that take 0.3 seconds.
    """
    with run_stack() as (stack, inbox):
        make_backlogs(name, [inbox.url(f"{receiver}/{number}") for number in range(endpoints)], events_per_endpoint)
        stack.start(*workers)
        return measure_rate(lambda: len(inbox.arrivals()), endpoints * events_per_endpoint)


def make_backlogs(name: str, urls: list[str], events: int) -> list[Delivery]:
    """Create an endpoint for each URL, in new organizations, and return due deliveries to them."""
    deliveries = []
    for start in range(0, len(urls), ENDPOINTS):
        owner = User.objects.create_user(f"owner@{name}-{start}.example")
        organization = create_organization(name=f"{name}-{start}", owner=owner)
        for url in urls[start : start + ENDPOINTS]:
            deliveries += make_backlog(make_endpoint(organization, url), events)
    return deliveries


def ordinary_rate(name: str, events: int) -> float:
    """Return how many events per second a worker delivers with one Celery task for each."""
    with run_stack() as (stack, inbox):
        urls = [inbox.url(f"ok/{number}") for number in range(ENDPOINTS)]
        for delivery in make_backlogs(name, urls, events // ENDPOINTS):
            stack.send_task(DELIVER, str(delivery.pk))
        stack.start("plain")
        return measure_rate(lambda: len(inbox.arrivals()), events // ENDPOINTS * ENDPOINTS)


def measure_idle_workers() -> tuple[list[float], list[float]]:
    """Return the processor time of an idle worker and of a bare Celery worker, in per cent of a core."""
    with run_stack() as (stack, _):
        stack.start("worker", "bare")
        time.sleep(SECONDS_UNTIL_IDLE)
        before = [processor_seconds(stack, name) for name in ("worker", "bare")]
        time.sleep(IDLE_SECONDS)
        after = [processor_seconds(stack, name) for name in ("worker", "bare")]
    product, bare = ([100 * (end - start) / IDLE_SECONDS] for start, end in zip(before, after, strict=True))
    return product, bare


def processor_seconds(stack: Stack, name: str) -> float:
    """Return the processor time that a worker has used so far."""
    times = psutil.Process(stack.processes[name].pid).cpu_times()
    return times.user + times.system


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
