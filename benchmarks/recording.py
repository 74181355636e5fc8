"""`python -m benchmarks.recording <key> <host's e-mail>`: the script with which `pgbench` does the work of a booking, in twelve statements.

A booking looks at once for all that it may need (`pipeline_backend.db.compiled.CombinedQuery`). Here each of those questions is
asked by itself, as one would write it by hand; everything else is what a booking sends. Before the script is handed
out it has run once, and has left the same rows as a booking.
"""

import os
import re
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import django

django.setup()

from django.db import connection  # noqa: E402  # after the settings
from django.test.utils import CaptureQueriesContext  # noqa: E402

from benchmarks import pgbench  # noqa: E402
from pipeline_backend.db.compiled import CombinedQuery  # noqa: E402
from tests.client import ApiClient  # noqa: E402
from webhooks.models import Event  # noqa: E402

STATEMENTS = 12
FRAMES = ["BEGIN", "COMMIT"]
UUID = re.compile(r"[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
NUMBER = re.compile(r'"(id|part|rows|transaction)": \d+')


def script(key: str, host: str) -> str:
    """The script, once it is known to do a booking's work."""
    book(key, host)  # notes that the key is used, as the next ones don't
    with patch.object(CombinedQuery, "first", one_by_one):
        first, second = recorded(key, host), recorded(key, host)
    assert len([one for one in first if one not in FRAMES]) == STATEMENTS, first
    found = pgbench.script_of(first, second)
    check_that_it_writes_the_same(found, key, host)
    return found


def one_by_one(self: CombinedQuery, **values: Any) -> list[Any]:
    """What each query finds, asked in a statement of its own."""
    return [query.first(**values) for query in self.queries]


def recorded(key: str, host: str) -> list[str]:
    """The statements of one booking."""
    with CaptureQueriesContext(connection) as seen:
        book(key, host)
    return [query["sql"] for query in seen.captured_queries]


def book(key: str, host: str) -> None:
    """A new lead's call."""
    wanted = {
        "external_reference": str(uuid4()),
        "lead_email": str(uuid4()) + "@example.com",
        "host_email": host,
        "notes": "Wants to know the price",
    }
    answer = ApiClient(key).book(**wanted)
    assert answer.status_code == 201, answer.content


def check_that_it_writes_the_same(text: str, key: str, host: str) -> None:
    """A yardstick that did less would measure nothing."""
    book(key, host)
    ours = written()
    with tempfile.TemporaryDirectory() as folder:
        pgbench.run(os.environ["DATABASE_URL"], text, Path(folder), "-t", "1")
    theirs = written()
    assert theirs == ours, "\n".join(
        unified_diff(as_lines(ours), as_lines(theirs), "a booking", "the script", lineterm="", n=0)
    )


def written() -> dict[str, list[str]]:
    """All rows of all tables that the newest event's transaction wrote, but for what is different in each."""
    newest = Event.unscoped.order_by("-transaction").values_list("transaction", flat=True)[0]
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT to_jsonb(own)::text FROM {table} AS own WHERE xmin::text::bigint = %s", [newest])
            found[table] = sorted(same_in_all(row) for (row,) in cursor.fetchall())
    return found


def as_lines(rows: dict[str, list[str]]) -> list[str]:
    """One line for each."""
    return [f"{table}: {row}" for table, own in sorted(rows.items()) for row in own]


def same_in_all(row: str) -> str:
    """The row without ids, moments, and the numbers of a transaction or of a row that counts others."""
    return NUMBER.sub("number", MOMENT.sub("moment", UUID.sub("id", row)))


if __name__ == "__main__":
    print(script(*sys.argv[1:]))  # noqa: T201
