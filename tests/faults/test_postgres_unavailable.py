"""PostgreSQL goes away during operation: requests are accepted or answered with 503, and nothing accepted is lost."""

import os
import signal
import time
from pathlib import Path

import psutil
import psycopg
from django.db import DatabaseError, connection
from psycopg import sql

from organizations.models import Organization
from tests.client import ApiClient
from tests.factories import events_of
from tests.faults.backlog import make_backlog, make_endpoint
from tests.faults.booking_stream import all_events_received, booking_stream
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for

UNAVAILABLE_SECONDS = 5  # long enough for a worker, which polls every three seconds, to notice
# A session of PostgreSQL's own, as autovacuum's, has another role, which only a superuser may terminate.
OTHER_SESSIONS = "FROM pg_stat_activity WHERE datname = {} AND usename = current_user AND pid <> pg_backend_pid()"
OTHER_SESSIONS_HERE = OTHER_SESSIONS.format("current_database()")


def query(statement: str) -> list[tuple]:
    """Run a statement on a new connection and return its rows."""
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


def terminate_sessions() -> None:
    """End every connection, as an administrator can."""
    query(f"SELECT pg_terminate_backend(pid) {OTHER_SESSIONS_HERE}")


def refuse_connections() -> None:
    """Accept no connections for a while, as during a failover."""
    database = connection.settings_dict
    name = sql.Identifier(database["NAME"])
    address = {
        "host": database["HOST"],
        "port": database["PORT"],
        "user": database["USER"],
        "password": database["PASSWORD"],
        "dbname": "postgres",
    }
    terminate = f"SELECT pg_terminate_backend(pid) {OTHER_SESSIONS.format('%s')}"
    with psycopg.connect(**address, autocommit=True) as server:
        server.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        try:
            server.execute(terminate, [database["NAME"]])
            time.sleep(UNAVAILABLE_SECONDS)
        finally:
            server.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))


def crash() -> None:
    """Kill a server process, so that PostgreSQL ends all sessions and recovers. Only for the tests' own server."""
    folder = query("SHOW data_directory")[0][0]
    pid = query(f"SELECT pid {OTHER_SESSIONS_HERE} LIMIT 1")[0][0]
    assert "pipeline-backend" in folder
    assert folder in psutil.Process(int((Path(folder) / "postmaster.pid").read_text().split()[0])).cmdline()
    assert psutil.Process(pid).cmdline()[0].startswith("postgres: ")
    before = last_restart()
    os.kill(pid, signal.SIGKILL)
    # It may still answer for a moment before it notices the crash.
    wait_for(lambda: last_restart() not in {before, None})


def last_restart() -> object:
    """Return when PostgreSQL started its processes last; None while it is unavailable."""
    try:
        return query("SELECT backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'")[0][0]
    except (DatabaseError, IndexError):
        return None


def is_own_server() -> bool:
    """Return True if `make test` has started the server for these tests."""
    return "pipeline-backend" in query("SHOW data_directory")[0][0]


def test_bookings_and_deliveries_survive_terminated_sessions_refused_connections_and_crashes(
    short_lease_stack: Stack,
    organization: Organization,
    api: ApiClient,
    inbox: FastReceiver,
    measurements: dict[str, str],
) -> None:
    stack = short_lease_stack
    commit_synchronously()
    endpoint = make_endpoint(organization, inbox.url("ok"))
    make_backlog(endpoint, 1000)
    stack.settings["RATE_LIMIT_PER_MINUTE"] = "100000"
    stack.start("web", "worker")
    faults = [terminate_sessions, refuse_connections]
    if is_own_server():
        faults += [terminate_sessions, crash, terminate_sessions]

    with booking_stream(stack, str(api.key), threads=4) as bookings:
        wait_for(inbox.has_received(50))
        for fault in faults:
            fault()
            bookings.wait_for_more(20)
    wait_for(all_events_received(inbox))
    # No message announces the last events, so they arrive only if the worker's own polling has survived.
    stack.flush_redis()
    make_backlog(endpoint, 10)
    wait_for(all_events_received(inbox))

    status_codes = [response.status for response, _ in bookings.responses]
    repeats = inbox.counts().total() - len(inbox.counts())
    measurements["PostgreSQL unavailable"] = (
        f"{len(bookings.accepted)} bookings accepted, {status_codes.count(503)} answered 503, {repeats} events repeated"
    )
    assert set(status_codes) <= {200, 201, 503}
    assert all("retry-after" in response.headers for response, _ in bookings.responses if response.status == 503)
    assert events_of(organization).count("appointment.created") == len(bookings.accepted)


def commit_synchronously() -> None:
    """Make confirmed commits survive a crash; the tests' own server gives that up for speed."""
    name = sql.Identifier(connection.settings_dict["NAME"])
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("ALTER DATABASE {} SET synchronous_commit = on").format(name))
    connection.close()
