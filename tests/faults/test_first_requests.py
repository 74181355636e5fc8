"""A web process is ready for its first request as for a later one, and few requests use few connections."""

from collections.abc import Callable
from threading import Thread
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import connection

from organizations.models import Organization
from pipeline_backend.web import rsgi, warm_up
from pipeline_backend.web.requests import Request
from pipeline_backend.web.turns import Turn
from tests.client import ApiClient
from tests.faults.stack import Stack

SESSIONS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""
# Those that PostgreSQL has planned often enough to keep a plan.
READY = "SELECT statement FROM pg_prepared_statements WHERE generic_plans + custom_plans > 5"

STORED = """
SELECT last_used_at::text FROM organizations_apikey
UNION ALL SELECT id::text FROM webhooks_event UNION ALL SELECT id::text FROM notifications_notification
UNION ALL SELECT id::text FROM leads_lead UNION ALL SELECT id::text FROM appointments_appointment
"""


def query(statement: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return [value for (value,) in cursor.fetchall()]


def in_new_thread(function: Callable[[], Any]) -> Any:
    """Call a function in a thread with a database connection of its own, and return its result."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(function())
        finally:
            connection.close()

    thread = Thread(target=run)
    thread.start()
    thread.join()
    return results[0]


def test_one_request_after_the_other_uses_few_connections(stack: Stack, organization: Organization, api: ApiClient):
    stack.start("web")
    sessions = query(SESSIONS)

    for _ in range(20):
        assert stack.get("/api/external/statuses", api.key)[0] == 200

    # A client may send its next request before the thread that answered waits again: then a second one answers.
    assert len(sessions) == 1
    assert len(query(SESSIONS)) <= 2


@pytest.mark.parametrize(
    ("before", "during", "is_warmed"),
    [
        ("close", "close", False),
        ("close", "ensure_connection", False),
        ("ensure_connection", "ensure_connection", False),
        ("ensure_connection", "close", True),
    ],
    ids=["none", "new", "kept", "old"],
)
def test_a_thread_whose_connection_ended_because_it_was_old_warms_up_before_its_next_request(
    db: None, before: str, during: str, is_warmed: bool
):
    def respond(_environ: object, start_response: Any) -> list[bytes]:
        start_response("200 OK", [])
        getattr(connection, during)()
        return [b""]

    warmed: list[bool] = []
    web = rsgi.RsgiApplication(respond, lambda: warmed.append(True))
    request = Mock(spec=Request, turn=Turn("group", "client"), environ={}, connection=[], protocol=Mock(), loop=Mock())
    web.turns.put(request.turn, request)

    in_new_thread(lambda: (getattr(connection, before)(), web.serve(web.turns.get())))

    assert warmed == [True] * is_warmed


def test_a_new_process_has_prepared_what_lists_details_and_bookings_run_and_keeps_it_after_a_rollback(api: ApiClient):
    api.book()

    ready = in_new_thread(lambda: (warm_up.warm_up(), query(READY))[1])

    for part in ("organizations_key", "page AS", "opt_ins", "pg_advisory_xact_lock", "INTO webhooks_event"):
        assert any(part in statement for statement in ready), part


def test_warming_up_changes_nothing_and_counts_no_request(api: ApiClient):
    api.book()
    before, stored = remaining(api), query(STORED)

    in_new_thread(warm_up.warm_up)

    assert remaining(api) in (before - 1, 599)  # or it is the first of a new minute
    assert query(STORED) == stored


def remaining(api: ApiClient) -> int:
    """Send a request, and return how many are left in this minute."""
    header = api.get("/api/external/statuses").headers["RateLimit"]
    return int(header.partition("r=")[2].partition(";")[0])


def test_a_process_that_cannot_warm_up_says_so(api: ApiClient, monkeypatch: Any, caplog: Any):
    monkeypatch.setattr(warm_up, "use", lambda *_: 1 / 0)

    in_new_thread(warm_up.warm_up)

    assert "its first requests will be slow" in caplog.text
