"""The service behind PgBouncer in transaction mode, against the same service that connects to PostgreSQL itself."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle, repeat
from urllib.parse import urlsplit

from benchmarks.environment import PRODUCT_APP, Database, Environment
from benchmarks.load_generator import get_request
from benchmarks.measurement import Comparison, Scale, at_least, compare
from benchmarks.suites.reads import LIST_PATH, throughput
from benchmarks.suites.writes import BOOKING_PATH, booking, post_requests
from tests.pooler.pgbouncer import PgBouncer
from tests.programs import SEARCH_PATH


def is_available() -> bool:
    """Return whether PgBouncer is installed."""
    return shutil.which("pgbouncer", path=SEARCH_PATH) is not None


def run(environment: Environment, small: Database, scale: Scale) -> Iterator[Comparison]:
    """Yield the comparisons of a list, a detail and a booking, all without prepared statements behind PgBouncer."""
    key, ids = small.dataset.api_key, small.dataset.appointment_ids
    operations = {
        "list of 10": repeat(get_request(f"{LIST_PATH}?limit=10", key)),
        "detail": cycle([get_request(f"{LIST_PATH}/{id}", key) for id in ids]),
        "create an appointment": post_requests(BOOKING_PATH, [key], booking),
    }
    with PgBouncer(urlsplit(small.url)) as pgbouncer:
        url = pgbouncer.url(urlsplit(small.url).path.strip("/"))
        pooled = replace(small, url=url, variables={"DATABASE_POOLER": "transaction"})
        servers = [environment.web_server(PRODUCT_APP, database) for database in (pooled, small)]
        for name, requests in operations.items():
            behind, direct = (throughput(server, requests, scale) for server in servers)
            yield compare(f"{name}, behind PgBouncer", "/s", behind, "direct", direct, at_least(0.35), scale)
        environment.stop(servers[0])
