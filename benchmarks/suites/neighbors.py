"""A quiet organization's list and pages while another organization sends as much as it can."""

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle, repeat
from multiprocessing import get_context
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

from benchmarks.environment import PRODUCT_APP, Database, Dataset, Environment, WebServer
from benchmarks.load_generator import get_request, page_request, run_load
from benchmarks.measurement import Comparison, Measurement, Scale, at_most, compare
from benchmarks.suites.list_filters import unselective_filters
from benchmarks.suites.reads import LIST_PATH
from benchmarks.suites.writes import BOOKING_PATH, booking, post_requests
from tests.overrides import overriding

BUSY_CLIENTS = 16
WARM_UP = 50
BOARD_PATH = "/admin/leads/lead/?layout=board"
REQUESTS_PER_ROUND = 100  # the slowest twentieth of them is above the 95th percentile
PAGES_PER_ROUND = 40


def run(environment: Environment, large: Database, scale: Scale) -> Iterator[Comparison]:
    """Yield the comparisons of a quiet organization's requests with and without a busy one."""
    variables = overriding(ADMIN_REQUESTS_PER_MINUTE=1_000_000)
    server = environment.start_web_server(PRODUCT_APP, replace(large, variables=variables), workers=2)
    dataset = large.dataset
    key, cookie = dataset.other_organizations_keys[0], dataset.other_cookie
    operations = {
        "list": slowest_of_20(server, get_request(f"{LIST_PATH}?limit=10", key), REQUESTS_PER_ROUND),
        "Home": slowest_of_20(server, page_request("/admin/", cookie), PAGES_PER_ROUND),
        "board": slowest_of_20(server, page_request(BOARD_PATH, cookie), PAGES_PER_ROUND),
    }
    loads = {"read filtered lists": (filtered_lists(dataset), 5), "book": (bookings(dataset), 2.5)}
    for name, alone in operations.items():
        for act, (requests, limit) in loads.items():
            yield compare(
                f"{name} beside {BUSY_CLIENTS} clients of another organization that {act}, 95th percentile",
                "ms",
                beside_busy_organization(server, requests, alone),
                "alone",
                alone,
                at_most(limit),
                scale,
            )
    environment.stop(server)


def filtered_lists(dataset: Dataset) -> Iterator[bytes]:
    queries = [urlencode(case.query | {"limit": "10"}) for case in unselective_filters(dataset)]
    return cycle([get_request(f"{LIST_PATH}?{query}", dataset.api_key) for query in queries])


def bookings(dataset: Dataset) -> Iterator[bytes]:
    def new_booking() -> dict[str, Any]:
        reference = str(uuid4())  # each process would begin with the same number
        return booking(external_reference=reference, lead_email=f"{reference}@example.com")

    return post_requests(BOOKING_PATH, [dataset.api_key], new_booking)


def slowest_of_20(server: WebServer, request: bytes, count: int) -> Measurement:
    """Return a measurement of the 95th percentile of `count` requests, in milliseconds."""
    run_load(server.port, repeat(request), connections=1, count=WARM_UP)

    def measure() -> float:
        result = run_load(server.port, repeat(request), connections=1, count=count)
        return 1000 * statistics.quantiles(result.response_seconds, n=20)[-1]

    return measure


def beside_busy_organization(server: WebServer, requests: Iterator[bytes], measurement: Measurement) -> Measurement:
    """Return the measurement while the busy organization's clients send these requests without a pause."""

    def measure() -> float:
        with busy_organization(server, requests):
            return measurement()

    return measure


@contextmanager
def busy_organization(server: WebServer, requests: Iterator[bytes]) -> Iterator[None]:
    """Let the clients send requests until the end of the block. Some of them may be refused with 429.

    They are a process: as a thread, they would hold the interpreter's lock when the measured client has a response.
    """
    run_load(server.port, requests, connections=BUSY_CLIENTS, count=BUSY_CLIENTS, expected=(b"2", b"429"))
    context = get_context("fork")
    is_over = context.Event()

    def send() -> None:
        while not is_over.is_set():
            run_load(server.port, requests, connections=BUSY_CLIENTS, count=2 * BUSY_CLIENTS, expected=(b"2", b"429"))

    clients = context.Process(target=send)
    clients.start()
    try:
        yield
    finally:
        is_over.set()
        clients.join()
