"""Lists and details against plain DRF, and the statuses against a view that only returns bytes."""

import json
import statistics
import urllib.request
from collections.abc import Iterator
from itertools import cycle, repeat

from benchmarks.environment import BASELINE_APP, PRODUCT_APP, Database, Environment, WebServer
from benchmarks.load_generator import SUCCESS, get_request, run_load
from benchmarks.measurement import Comparison, Measurement, Samples, Scale, Target, at_least, at_most, compare

CONNECTIONS = 8
WARM_UP = 24  # requests per connection; after ten, each connection has prepared and planned its statements for good
BASELINE_WARM_UP = 2
MILLION = 1_000_000
LIST_PATH, BASELINE_LIST_PATH = "/api/external/appointments", "/api/plain-drf/appointments"
STATUSES_PATH = "/api/external/statuses"


def run(environment: Environment, small: Database, large: Database, scale: Scale) -> Iterator[Comparison]:
    """Yield the comparisons of lists at both sizes, of details, of the statuses, and of a new process."""
    large_target = at_least(30 if scale.appointments >= MILLION else 10)
    yield compare_list(environment, small, scale, "list of 10, 1,000 rows", 10, at_least(10))
    yield compare_list(environment, small, scale, "list of 100, 1,000 rows", 100, at_least(10))
    yield compare_list(environment, large, scale, f"list of 10, {scale.appointments:,} rows", 10, large_target)
    yield compare_detail(environment, small, scale)
    yield compare_statuses(environment, small, scale)
    yield compare_first_lists(environment, small, scale)


def throughput(
    server: WebServer,
    requests: Iterator[bytes],
    scale: Scale,
    *,
    warm_up: int = WARM_UP,
    expected: tuple[bytes, ...] = SUCCESS,
) -> Measurement:
    """Warm the server up and return a measurement of its requests per second."""
    run_load(server.port, requests, connections=CONNECTIONS, count=CONNECTIONS * warm_up, expected=expected)

    def measure() -> float:
        result = run_load(
            server.port, requests, connections=CONNECTIONS, seconds=scale.round_seconds, expected=expected
        )
        return result.requests_per_second

    return measure


def compare_list(
    environment: Environment, database: Database, scale: Scale, operation: str, limit: int, target: Target
) -> Comparison:
    """Compare the first page of the appointments list, with API key, rate limit and total."""
    check_same_response(environment, database, f"?limit={limit}")
    key = database.dataset.api_key
    requests = repeat(get_request(f"{LIST_PATH}?limit={limit}", key))
    baseline_requests = repeat(get_request(f"{BASELINE_LIST_PATH}?limit={limit}", key))
    return compare(
        operation,
        "/s",
        throughput(environment.web_server(PRODUCT_APP, database), requests, scale),
        "plain DRF",
        throughput(environment.web_server(BASELINE_APP, database), baseline_requests, scale, warm_up=BASELINE_WARM_UP),
        target,
        scale,
    )


def compare_detail(environment: Environment, database: Database, scale: Scale) -> Comparison:
    """Compare single appointments, a different one in each request."""
    key, ids = database.dataset.api_key, database.dataset.appointment_ids
    check_same_response(environment, database, f"/{ids[0]}")
    requests = cycle([get_request(f"{LIST_PATH}/{id}", key) for id in ids])
    baseline_requests = cycle([get_request(f"{BASELINE_LIST_PATH}/{id}", key) for id in ids])
    return compare(
        "detail",
        "/s",
        throughput(environment.web_server(PRODUCT_APP, database), requests, scale),
        "plain DRF",
        throughput(environment.web_server(BASELINE_APP, database), baseline_requests, scale, warm_up=BASELINE_WARM_UP),
        at_least(4),
        scale,
    )


def compare_statuses(environment: Environment, database: Database, scale: Scale) -> Comparison:
    """Compare the statuses with a view that returns the same number of bytes and does nothing else.

    The rest is a statement for the API key, one for the statuses, and three Redis commands for the rate limit.
    """
    key = database.dataset.api_key
    server, baseline_server = (environment.web_server(app, database) for app in (PRODUCT_APP, BASELINE_APP))
    size = len(read_body(server, STATUSES_PATH, key))
    baseline = throughput(baseline_server, repeat(get_request(f"/api/hello/{size}", key)), scale)
    product = throughput(server, repeat(get_request(STATUSES_PATH, key)), scale)
    return compare("statuses", "/s", product, "hello", baseline, at_least(0.2), scale)


def compare_first_lists(environment: Environment, database: Database, scale: Scale) -> Comparison:
    """Compare the median of a new process's first five lists with that of its 480th to 520th, in each round anew.

    It is one worker process, so that all requests are its own, and each has a connection of its own, as after a pause.
    """
    requests = repeat(get_request(f"{LIST_PATH}?limit=10", database.dataset.api_key))
    first: list[float] = []
    later: list[float] = []
    for _ in range(scale.rounds):
        server = environment.start_web_server(PRODUCT_APP, database, workers=1)
        loads = [run_load(server.port, requests, connections=1, count=1) for _ in range(520)]
        environment.stop(server)
        times = [load.response_seconds[0] * 1000 for load in loads]
        first.append(statistics.median(times[:5]))
        later.append(statistics.median(times[480:]))
    return Comparison("1st to 5th list", "ms", Samples(first), "480th to 520th", Samples(later), at_most(1.5))


def check_same_response(environment: Environment, database: Database, path: str) -> None:
    """Assert that both sides return the same objects; otherwise the comparison would prove nothing."""
    key = database.dataset.api_key
    product = read_body(environment.web_server(PRODUCT_APP, database), LIST_PATH + path, key)
    baseline = read_body(environment.web_server(BASELINE_APP, database), BASELINE_LIST_PATH + path, key)
    data = json.loads(product)["data"]
    baseline_data = json.loads(baseline.replace(b"000Z", b"Z"))  # plain DRF renders microseconds
    assert baseline_data.get("results", baseline_data) == data, path


def read_body(server: WebServer, path: str, api_key: str) -> bytes:
    """Return the body of one response."""
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", headers={"x-api-key": api_key})
    with urllib.request.urlopen(request) as response:
        return bytes(response.read())
