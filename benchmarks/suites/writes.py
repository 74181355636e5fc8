"""Bookings and opt-ins against plain DRF and against the database alone; and many clients of one organization."""

import json
from collections.abc import Callable, Iterator
from itertools import count, cycle
from typing import Any
from uuid import uuid4

from benchmarks import pgbench
from benchmarks.environment import BASELINE_APP, PRODUCT_APP, Database, Environment, durable_commits
from benchmarks.load_generator import post_request, run_load
from benchmarks.measurement import Comparison, Measurement, Scale, at_least, compare
from benchmarks.suites.reads import BASELINE_WARM_UP, CONNECTIONS, throughput

BOOKING_PATH, BASELINE_BOOKING_PATH = "/api/external/appointments", "/api/plain-drf/appointments"
OPT_IN_PATH, BASELINE_OPT_IN_PATH = "/api/opt-in/submit", "/api/plain-drf/opt-ins"
CLIENTS = 16
KNOWN_LEADS = 100

# Together they make the references and e-mail addresses of this run unique.
RUN_ID = uuid4().hex[:8]
NUMBERS = count()


def run(environment: Environment, small: Database, scale: Scale) -> Iterator[Comparison]:
    """Yield the comparisons of bookings and opt-ins."""
    dataset = small.dataset
    server, baseline_server = (environment.web_server(app, small) for app in (PRODUCT_APP, BASELINE_APP))

    def booking_with_host() -> dict[str, Any]:
        return booking(host_email=dataset.host_email)

    bookings = throughput(server, post_requests(BOOKING_PATH, [dataset.api_key], booking_with_host), scale)
    baseline_bookings = throughput(
        baseline_server,
        post_requests(BASELINE_BOOKING_PATH, [dataset.api_key], booking_with_host),
        scale,
        warm_up=BASELINE_WARM_UP,
    )
    yield from compare_both(small, "create an appointment", bookings, "plain DRF", baseline_bookings, 4, scale)

    known = throughput(server, post_requests(BOOKING_PATH, [dataset.api_key], booking_of_known_lead), scale)
    yield compare(
        "create an appointment of a known lead", "/s", known, "of a new lead", bookings, at_least(0.75), scale
    )

    script = environment.run_python(small.url, "-m", "benchmarks.booking_script", dataset.api_key, dataset.host_email)
    transactions = pgbench.throughput(small.url, script, environment.folder, clients=CONNECTIONS)
    yield from compare_both(
        small,
        "create an appointment",
        bookings,
        "pgbench, 12 statements",
        lambda: transactions(scale.round_seconds),
        0.35,
        scale,
    )

    opt_ins = throughput(server, post_requests(OPT_IN_PATH, [dataset.api_key], opt_in), scale)
    baseline_opt_ins = throughput(
        baseline_server,
        post_requests(BASELINE_OPT_IN_PATH, [dataset.api_key], opt_in),
        scale,
        warm_up=BASELINE_WARM_UP,
    )
    yield from compare_both(small, "submit an opt-in with 10 answers", opt_ins, "plain DRF", baseline_opt_ins, 4, scale)
    yield from compare_concurrent_bookings(environment, small, scale)


def compare_both(
    database: Database,
    operation: str,
    product: Measurement,
    baseline_name: str,
    baseline: Measurement,
    target: float,
    scale: Scale,
) -> Iterator[Comparison]:
    """Yield the comparison with the settings of all other rows, and then with durable ones, on both sides."""
    limit = at_least(target)
    yield compare(operation, "/s", product, baseline_name, baseline, limit, scale)
    with durable_commits(database.url):
        yield compare(f"{operation}, durable", "/s", product, baseline_name, baseline, limit, scale)


def compare_concurrent_bookings(environment: Environment, small: Database, scale: Scale) -> Iterator[Comparison]:
    """Compare 16 clients of one organization with one client in each of 16 organizations.

    It would be slower if all bookings of an organization had to lock the same row, such as a counter.
    """
    server = environment.web_server(PRODUCT_APP, small)
    keys = small.dataset.other_organizations_keys

    def measurement(keys: list[str]) -> Measurement:
        requests = post_requests(BOOKING_PATH, keys, booking)
        run_load(server.port, requests, connections=CLIENTS, count=CLIENTS * 16)
        return lambda: (
            run_load(server.port, requests, connections=CLIENTS, seconds=scale.round_seconds).requests_per_second
        )

    return compare_both(
        small,
        "create an appointment, 16 clients of one organization",
        measurement(keys[:1]),
        "of 16 organizations",
        measurement(keys),
        0.8,
        scale,
    )


def post_requests(path: str, api_keys: list[str], body: Callable[[], dict[str, Any]]) -> Iterator[bytes]:
    """Yield requests with new bodies and alternating keys, without end."""
    for key in cycle(api_keys):
        yield post_request(path, key, json.dumps(body()).encode())


def booking(**fields: Any) -> dict[str, Any]:
    """Return the body of a booking by a new lead."""
    number = next(NUMBERS)
    return {
        "external_reference": f"{RUN_ID}-{number}",
        "schedule_time": "2027-01-05T10:00:00Z",
        "event_type_name": "Strategy call",
        "lead_email": f"{RUN_ID}.{number}@example.com",
        "lead_first_name": "Ada",
        "lead_last_name": "Lovelace",
        "notes": "Wants to know the price",
        **fields,
    }


def booking_of_known_lead() -> dict[str, Any]:
    """Return the body of a booking by one of the first `KNOWN_LEADS` leads, which soon all have had a booking."""
    fields = booking()
    return {**fields, "lead_email": f"{RUN_ID}.known.{next(NUMBERS) % KNOWN_LEADS}@example.com"}


def opt_in() -> dict[str, Any]:
    """Return the body of an opt-in by a new lead, with ten answers."""
    number = next(NUMBERS)
    return {
        "email": f"{RUN_ID}.{number}@example.com",
        "first_name": "Ada",
        "last_name": "Lovelace",
        "source": "LANDING_PAGE",
        "external_reference": f"{RUN_ID}-{number}",
        "provider_form_id": "form-1",
        "provider_form_name": "Start",
        "questions_answers": [
            {"question": f"Question {position}", "answer": "An answer of some words", "position": position}
            for position in range(1, 11)
        ],
        "traffic": {
            "utm_source": "newsletter",
            "utm_medium": "email",
            "utm_campaign": "spring",
            "landing_page": "https://example.com/start",
        },
    }
