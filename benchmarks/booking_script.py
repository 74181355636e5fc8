"""`python -m benchmarks.booking_script <API key> <host's e-mail>` prints a pgbench script that does a booking's work.

A booking reads everything that it may need in one statement (`foundation.db.compiled.CombinedQuery`). Here each
of those queries is a separate statement, as in code written by hand, and so is each event, which makes twelve; what
only our bookings know, former references and early cancellations, is left out. The others are the statements of a
booking. Before the script is printed it runs once, and must write the same rows as a booking.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import django

django.setup()

from django.db import connection  # noqa: E402  # after the settings
from django.test.utils import CaptureQueriesContext  # noqa: E402

from appointments.services import booking  # noqa: E402
from benchmarks import pgbench  # noqa: E402
from foundation.db.compiled import CombinedQuery  # noqa: E402
from tests.client import ApiClient  # noqa: E402
from webhooks import events  # noqa: E402
from webhooks.models import Event  # noqa: E402

STATEMENTS = 12
LEFT_OUT = (booking.APPOINTMENT_BY_FORMER_REFERENCE, booking.REMEMBERED_CANCELLATION, booking.REFERENCE_LOCK)
TRANSACTION_STATEMENTS = ["BEGIN", "COMMIT"]
UUID = re.compile(r"[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
NUMBER = re.compile(r'"(id|part|rows|transaction)": \d+')  # ids and row counts differ between two bookings

ROWS_OF_TRANSACTION = "SELECT to_jsonb(new_row)::text FROM {table} AS new_row WHERE xmin::text::bigint = %s"


def booking_script(api_key: str, host_email: str) -> str:
    """Return the script, after checking that it does a booking's work."""
    book(api_key, host_email)  # updates the key's last use, so that the recorded bookings don't
    with (
        patch.object(CombinedQuery, "first", run_separately),
        patch.object(events, "insert_now", partial(insert_separately, events.insert_now)),
    ):
        first, second = record_statements(api_key, host_email), record_statements(api_key, host_email)
    assert len([statement for statement in first if statement not in TRANSACTION_STATEMENTS]) == STATEMENTS, first
    script = pgbench.build_script(first, second)
    check_rows_written(script, api_key, host_email)
    return script


def run_separately(self: CombinedQuery, **values: Any) -> list[Any]:
    """Replace `CombinedQuery.first`: run each of its queries as a separate statement, or not at all."""
    return [None if query in LEFT_OUT else query.first(**values) for query in self.queries]


def insert_separately(
    insert_now: Callable[[Sequence[events.NewEvents]], None], waiting: list[events.NewEvents]
) -> None:
    """Replace `insert_now`: insert each event by a separate statement."""
    for event in waiting:
        insert_now([event])


def record_statements(api_key: str, host_email: str) -> list[str]:
    """Return the statements of one booking."""
    with CaptureQueriesContext(connection) as queries:
        book(api_key, host_email)
    return [query["sql"] for query in queries.captured_queries]


def book(api_key: str, host_email: str) -> None:
    """Book an appointment with a new lead."""
    response = ApiClient(api_key).book(
        external_reference=str(uuid4()),
        lead_email=f"{uuid4()}@example.com",
        host_email=host_email,
        notes="Wants to know the price",
    )
    assert response.status_code == 201, response.content


def check_rows_written(script: str, api_key: str, host_email: str) -> None:
    """Assert that the script writes the same rows as a booking; a baseline that did less would prove nothing."""
    book(api_key, host_email)
    by_booking = rows_of_last_event()
    with tempfile.TemporaryDirectory() as folder:
        pgbench.run(os.environ["DATABASE_URL"], script, Path(folder), "-t", "1")
    by_script = rows_of_last_event()
    difference = unified_diff(by_booking, by_script, "a booking", "the script", lineterm="", n=0)
    assert by_script == by_booking, "\n".join(difference)


def rows_of_last_event() -> list[str]:
    """Return the rows of all tables that the newest event's transaction wrote, one text per row."""
    newest = Event.unscoped.order_by("-transaction").values_list("transaction", flat=True)[0]
    lines = []
    with connection.cursor() as cursor:
        for table in sorted(connection.introspection.table_names(cursor)):
            cursor.execute(ROWS_OF_TRANSACTION.format(table=table), [newest])
            lines += sorted(f"{table}: {mask_unique_values(row)}" for (row,) in cursor.fetchall())
    return lines


def mask_unique_values(row: str) -> str:
    """Return the row without what differs between any two bookings: ids, timestamps, counts and transaction ids."""
    return NUMBER.sub("number", TIMESTAMP.sub("timestamp", UUID.sub("id", row)))


if __name__ == "__main__":
    print(booking_script(*sys.argv[1:]))  # noqa: T201
