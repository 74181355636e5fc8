"""A worker's memory after many requests, the gain from a second web worker, and the throughput of deliveries."""

import json
from collections.abc import Iterator
from itertools import repeat

from benchmarks.environment import PRODUCT_APP, Database, Environment
from benchmarks.load_generator import get_request, run_load
from benchmarks.measurement import Comparison, Samples, Scale, at_least, at_most, compare
from benchmarks.suites.reads import CONNECTIONS, LIST_PATH, STATUSES_PATH, throughput
from tests.faults.fast_receiver import SLOW_SECONDS

WARM_UP = 3_000  # requests until every thread has served and its memory pools have grown
MIB = 2**20


def run(environment: Environment, small: Database, scale: Scale) -> Iterator[Comparison]:
    """Yield the comparisons of memory, web workers and delivery workers."""
    yield compare_memory(environment, small, scale)
    yield compare_web_workers(environment, small, STATUSES_PATH, "statuses", scale)
    yield compare_web_workers(environment, small, f"{LIST_PATH}?limit=10", "list of 10", scale)
    yield compare_web_workers_without_database(environment, small, scale)
    yield from compare_deliveries(environment, small, scale)


def compare_memory(environment: Environment, small: Database, scale: Scale) -> Comparison:
    """Compare a new worker's memory after many requests with its memory after the warm-up, to find leaks."""
    server = environment.start_web_server(PRODUCT_APP, small, workers=1)
    requests = repeat(get_request(f"{LIST_PATH}?limit=100", small.dataset.api_key))
    run_load(server.port, requests, connections=CONNECTIONS, count=WARM_UP)
    before = server.worker_memory() / MIB
    run_load(server.port, requests, connections=CONNECTIONS, count=scale.memory_requests)
    after = server.worker_memory() / MIB
    environment.stop(server)
    return Comparison(
        f"memory of a web worker after {scale.memory_requests:,} lists of 100",
        "MB",
        Samples([after]),
        f"after {WARM_UP:,}",
        Samples([before]),
        at_most(1.1),
    )


def compare_web_workers(environment: Environment, small: Database, path: str, name: str, scale: Scale) -> Comparison:
    """Compare two web workers with one. PostgreSQL, Redis and the client run on the same cores."""
    requests = repeat(get_request(path, small.dataset.api_key))
    one, two = (throughput(environment.web_server(PRODUCT_APP, small, workers), requests, scale) for workers in (1, 2))
    baseline_name = "one worker, PostgreSQL on the same cores"
    return compare(f"two web workers, {name}", "/s", two, baseline_name, one, at_least(1.1), scale)


def compare_web_workers_without_database(environment: Environment, small: Database, scale: Scale) -> Comparison:
    """Compare two web workers with one for requests that are refused without PostgreSQL and Redis.

    The client keeps sending past its rate limit, which the process remembers. One request per minute is allowed.
    """
    requests = repeat(get_request(STATUSES_PATH, small.dataset.rate_limited_key))
    one, two = (
        throughput(environment.web_server(PRODUCT_APP, small, workers), requests, scale, expected=(b"200", b"429"))
        for workers in (1, 2)
    )
    baseline_name = "one worker, PostgreSQL not used"
    return compare("two web workers, rate limit exceeded", "/s", two, baseline_name, one, at_least(1.2), scale)


def compare_deliveries(environment: Environment, small: Database, scale: Scale) -> Iterator[Comparison]:
    """Compare deliveries with Celery tasks, delivery workers with each other, and idle workers."""
    arguments = [str(scale.events), str(scale.delivery_rounds)]
    output = environment.run_python(small.url, "-m", "benchmarks.deliveries", *arguments)
    # The result is the last line; the ends of the workers' logs are before it.
    rates = {name: Samples(values) for name, values in json.loads(output.splitlines()[-1]).items()}
    one, two = rates["one_worker"], rates["two_workers"]
    one_slow, two_slow = rates["one_worker_slow_receivers"], rates["two_workers_slow_receivers"]
    slow = "two delivery workers, receivers that take 0.3 s"
    yield Comparison("events delivered", "/s", one, "empty Celery tasks", rates["celery_tasks"], at_least(1.3))
    yield Comparison("events delivered", "/s", one, "the ordinary way", rates["ordinary_way"], at_least(4))
    yield Comparison("two delivery workers", "events/s", two, "one worker", one, at_least(1.05))
    yield Comparison(slow, "events/s", two_slow, "one worker", one_slow, at_least(1.05))
    # 25 events a second; 26.7 are the most that 8 requests at once allow.
    one_by_one, receiver = Samples([1 / SLOW_SECONDS]), "one receiver that takes 0.3 s"
    yield Comparison(receiver, "events/s", rates["one_slow_receiver"], "one by one", one_by_one, at_least(7.5))
    idle, bare = rates["idle_worker"], rates["idle_bare_worker"]
    yield Comparison("idle worker, share of a core", "%", idle, "bare Celery worker", bare, at_most(7))
