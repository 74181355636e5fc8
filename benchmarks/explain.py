"""Shows how PostgreSQL runs the statements that meet the large tables: `make explain` (ROWS=50000 for a smaller run,
ROWS=10000000 for one of an hour that needs 45 GB of disk).

DATABASE_URL must name a server that nothing else uses. The first run creates the database `explain` there and fills it,
which takes five minutes for a million appointments; later runs use it again. The real code runs (requests, claims,
pruning, the health check), and each of its statements is explained before it runs. docs/scaling.md has the results.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

import django
import psycopg

from tests.overrides import overriding

DATABASE = "explain"
APPOINTMENTS = 1_000_000
UNREACHABLE = 100_000_000
# No limit refuses a request: neither of requests, nor of the time of a statement.
VARIABLES = {
    "RATE_LIMIT_PER_MINUTE": str(UNREACHABLE),
    **overriding(ADMIN_REQUESTS_PER_MINUTE=UNREACHABLE, ADMIN_STATEMENT_SECONDS=600, ADMIN_TRANSACTION_SECONDS=600),
    "DJANGO_SETTINGS_MODULE": "tests.overrides.overridden_settings",  # PYTHONPATH comes too late for this process
}


def create_database() -> bool:
    """Put the database's name into DATABASE_URL. Return whether it is new; then its tables are created."""
    server = os.environ["DATABASE_URL"]
    os.environ.update(VARIABLES, DATABASE_URL=urlsplit(server)._replace(path=f"/{DATABASE}").geturl())
    with psycopg.connect(server, autocommit=True) as server_connection:
        if server_connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone():
            return False
        server_connection.execute(f"CREATE DATABASE {DATABASE}")
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], check=True)
    return True


is_new = create_database()
django.setup()

from django.conf import settings  # noqa: E402  # after the settings
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402

from appointments.services import refresh_touch_points  # noqa: E402
from benchmarks.explain_admin import pages  # noqa: E402
from benchmarks.explain_data import fill  # noqa: E402
from benchmarks.plans import explain_statements  # noqa: E402
from foundation.outbox import FAST, SLOW, load_queues  # noqa: E402
from organizations.models import Organization  # noqa: E402
from organizations.services import issue_key  # noqa: E402
from pipeline_backend.web.health import health_error  # noqa: E402
from pipeline_backend.web.metrics import DatabaseCollector  # noqa: E402
from webhooks.models import Endpoint, Event  # noqa: E402
from webhooks.queue import DELIVERIES  # noqa: E402
from webhooks.services import prune, take_unreported_failures  # noqa: E402

EVERYTHING_DAYS, NOTHING_DAYS = 1, 3_000  # for which deliveries are kept
FIRST_BATCH = 6  # statements, of pruning
REFERENCE_ROWS = 100_000

SIZES = """
SELECT relname, reltuples::bigint, pg_table_size(oid) / 1024 / 1024, pg_indexes_size(oid) / 1024 / 1024
FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples > 100000
ORDER BY pg_total_relation_size(oid) DESC
"""
TABLE_HEAD = """
| operation | statements | ms | slowest, ms | blocks | slowest statement: scans and sorts, with the rows they read |
|---|---|---|---|---|---|"""

Operation = Callable[[], object]


def main(appointments: int) -> None:
    """Print the sizes of the tables, and a row for each operation."""
    organization = fill(appointments) if is_new else Endpoint.unscoped.earliest("id").organization
    print_sizes()
    output(TABLE_HEAD)
    for title, operation in {**worker(organization), **api(organization), **admin(organization)}.items():
        print_operation(title, operation)
    settings.KEEP_DELIVERIES_DAYS = NOTHING_DAYS
    print_operation("prune deliveries, none is old", partial(prune, organization=organization))
    settings.KEEP_DELIVERIES_DAYS = EVERYTHING_DAYS
    print_operation("prune deliveries, begin of a batch", partial(prune, organization=organization), FIRST_BATCH)
    print_operation(f"reference: count {REFERENCE_ROWS:,} entries of an index", count_entries)


def count_entries() -> None:
    """Count entries of an index, by which the figures of two computers, or of a busy one, can be compared."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM (SELECT id FROM webhooks_event ORDER BY id LIMIT %s) AS ids", [REFERENCE_ROWS]
        )


def worker(organization: Organization) -> dict[str, Operation]:
    """Return what workers and the health check do again and again."""
    with_backlog, other = Endpoint.objects.of(organization).order_by("id")[:2]
    return {
        "poll for due jobs, all queues": lambda: [
            queue.due_groups(lane) for queue in load_queues() for lane in (FAST, SLOW)
        ],
        "claim deliveries, many due": partial(DELIVERIES.claim, with_backlog.pk),
        "claim deliveries, some due": partial(DELIVERIES.claim, other.pk),
        "health check": health_error,
        "metrics of the backlog and the endpoints": lambda: list(DatabaseCollector().collect()),
        "touch points": partial(refresh_touch_points, organization=organization),
        "digest of failing endpoints": partial(take_unreported_failures, organization=organization),
    }


def api(organization: Organization) -> dict[str, Operation]:
    """Return reads by API clients."""
    events = Event.objects.of(organization).filter(transaction__lt=0).order_by("transaction")
    middle = events[events.count() // 2]
    _, key = issue_key(organization=organization, name="Benchmark")
    paths = {
        "events, first page": "events",
        "events, page in the middle": f"events?after={middle.pk}",
        "events of a rare type from the middle": f"events?after={middle.pk}&type=opt_in.created",
        "events, the last": f"events?after={events.reverse()[1].pk}",
        **{f"{name}, first page": name for name in ("appointments", "leads", "opt-ins")},
    }
    client = Client(SERVER_NAME="127.0.0.1", headers={"x-api-key": key})
    return {f"API: {title}": partial(get, client, f"/api/external/{path}") for title, path in paths.items()}


def admin(organization: Organization) -> dict[str, Operation]:
    """Return the admin's pages."""
    return {f"admin: {title}": partial(get, client, f"/admin/{path}") for title, path, client in pages(organization)}


def get(client: Client, path: str) -> None:
    """Request a path, which must be there."""
    response = client.get(path)
    assert response.status_code in (200, 302), (path, response.status_code)


def print_sizes() -> None:
    """Print rows and size of each large table."""
    output("| table | rows | table, MB | indexes, MB |\n|---|---|---|---|")
    with connection.cursor() as cursor:
        cursor.execute(SIZES)
        for table, rows, table_size, index_size in cursor.fetchall():
            output(f"| `{table}` | {rows:,} | {table_size:,} | {index_size:,} |")


def print_operation(title: str, operation: Operation, limit: int | None = None) -> None:
    """Run an operation twice, and print the figures of the second time, when its blocks are in memory."""
    explain_statements(operation, limit)
    statements = explain_statements(operation, limit)
    slowest = max(statements, key=lambda statement: statement.milliseconds)
    total, blocks = sum(item.milliseconds for item in statements), sum(item.blocks() for item in statements)
    figures = f"{len(statements)} | {total:,.1f} | {slowest.milliseconds:,.1f} | {blocks:,}"
    output(f"| {title} | {figures} | {'; '.join(slowest.scans()[:4])} |")


def output(text: str) -> None:
    """Print without buffering."""
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else APPOINTMENTS)
