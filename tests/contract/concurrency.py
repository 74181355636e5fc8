"""Send requests from many threads at the same time, each thread with its own database connection."""

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connections

from tests.client import ApiClient

THREADS = 16


def run_concurrently(key: str | None, *requests: Callable[[ApiClient], Any]) -> list[Any]:
    """Return the results of the requests.

    Thread n runs the requests n, n + THREADS, n + 2 * THREADS, … in this order. Results are grouped by thread, so up
    to THREADS requests keep their order.
    """
    # Without a barrier the first threads would be done before the last ones start.
    start = Barrier(THREADS)

    def run_share(thread_number: int) -> list[Any]:
        api = ApiClient(key)
        start.wait(timeout=30)
        try:
            return [request(api) for request in requests[thread_number::THREADS]]
        finally:
            # Connections are thread-local, and Django does not close them when a thread ends.
            connections.close_all()

    with ThreadPoolExecutor(THREADS) as pool:
        shares = list(pool.map(run_share, range(THREADS)))
    return [result for share in shares for result in share]


def status_codes(responses: Iterable[Any]) -> Counter[int]:
    """Count the responses by status code."""
    return Counter(response.status_code for response in responses)


def field_values(responses: Iterable[Any], field: str) -> set[Any]:
    """Return the distinct values of a field of `data` in the successful responses."""
    return {response.json()["data"][field] for response in responses if response.status_code < 300}
