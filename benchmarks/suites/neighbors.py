"""An organization's list while another organization sends as much as it can."""

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, repeat
from threading import Event, Thread
from urllib.parse import urlencode

from benchmarks.environment import PRODUCT_APP, Database, Dataset, Environment, WebServer
from benchmarks.load_generator import get_request, run_load
from benchmarks.measurement import Comparison, Measurement, Scale, at_most, compare
from benchmarks.suites.list_filters import unselective_filters
from benchmarks.suites.reads import LIST_PATH

BUSY_CLIENTS = 16
WARM_UP = 50
REQUESTS_PER_ROUND = 100  # a tenth of them are slower than the 90th percentile


def run(environment: Environment, large: Database, scale: Scale) -> Iterator[Comparison]:
    """Yield the comparison of a quiet organization's list with and without a busy one."""
    server = environment.web_server(PRODUCT_APP, large)
    alone = slowest_of_20(server, large.dataset)
    yield compare(
        f"list beside {BUSY_CLIENTS} clients of another organization, 95th percentile",
        "ms",
        beside_busy_organization(server, large.dataset, alone),
        "alone",
        alone,
        at_most(10),
        scale,
    )


def slowest_of_20(server: WebServer, dataset: Dataset) -> Measurement:
    """Return a measurement of the 95th percentile of the quiet organization's list, in milliseconds."""
    requests = repeat(get_request(f"{LIST_PATH}?limit=10", dataset.other_organizations_keys[0]))
    run_load(server.port, requests, connections=1, count=WARM_UP)

    def measure() -> float:
        result = run_load(server.port, requests, connections=1, count=REQUESTS_PER_ROUND)
        return 1000 * statistics.quantiles(result.response_seconds, n=20)[-1]

    return measure


def beside_busy_organization(server: WebServer, dataset: Dataset, measurement: Measurement) -> Measurement:
    """Return the measurement while the busy organization's clients read filtered lists without a pause."""

    def measure() -> float:
        with busy_organization(server, dataset):
            return measurement()

    return measure


@contextmanager
def busy_organization(server: WebServer, dataset: Dataset) -> Iterator[None]:
    """Let the clients send requests until the end of the block."""
    queries = [urlencode({case.parameter: case.value, "limit": 10}) for case in unselective_filters(dataset)]
    requests = [get_request(f"{LIST_PATH}?{query}", dataset.api_key) for query in queries]
    run_load(server.port, cycle(requests), connections=BUSY_CLIENTS, count=BUSY_CLIENTS)
    is_over = Event()

    def send() -> None:
        while not is_over.is_set():
            run_load(server.port, cycle(requests), connections=BUSY_CLIENTS, count=2 * BUSY_CLIENTS)

    clients = Thread(target=send)
    clients.start()
    try:
        yield
    finally:
        is_over.set()
        clients.join()
