"""PostgreSQL goes away in the middle of it: requests are taken or asked to come again, and nothing taken is lost."""

import os
import signal
import time
from pathlib import Path

import psycopg
from django.db import DatabaseError, connection
from psycopg import sql

from organizations.models import Organization
from pipeline_backend.local import processes
from tests.client import ApiClient
from tests.factories import events_of
from tests.faults.backlog import make_backlog, make_endpoint
from tests.faults.booking_stream import all_events_received, booking_stream
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for

AWAY_SECONDS = 2.5  # the worker looks every second


def ask(question: str) -> list[tuple]:
    """Rows of an answer, on whatever connection there is."""
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute(question)
        return cursor.fetchall()


OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


def cut_off() -> None:
    """End every connection, as an administrator would."""
    ask(f"SELECT pg_terminate_backend(pid) {OTHERS}")


def shut_out() -> None:
    """Take no connections for a while, like a server that is being replaced by another."""
    own = connection.settings_dict
    name = sql.Identifier(own["NAME"])
    address = {
        "host": own["HOST"],
        "port": own["PORT"],
        "user": own["USER"],
        "password": own["PASSWORD"],
        "dbname": "postgres",
    }
    with psycopg.connect(**address, autocommit=True) as server:
        server.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS false").format(name))
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [own["NAME"]])
        time.sleep(AWAY_SECONDS)
        server.execute(sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS true").format(name))


def crash() -> None:
    """Kill a server process, which makes PostgreSQL throw out everybody and recover; only the throw-away one of these tests."""
    folder = ask("SHOW data_directory")[0][0]
    pid = ask(f"SELECT pid {OTHERS} LIMIT 1")[0][0]
    assert "pipeline-backend" in folder
    assert folder in processes.command_line(int((Path(folder) / "postmaster.pid").read_text().split()[0]))
    assert processes.command_line(pid).startswith("postgres: ")
    before = born()
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: born() not in {before, None}, seconds=60)


def born() -> object:
    """When PostgreSQL's processes were started last: it may still answer for a moment before it notices a crash."""
    try:
        return ask("SELECT backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'")[0][0]
    except (DatabaseError, IndexError):
        return None


def is_throwaway() -> bool:
    """Whether the server is one that `make test` has started."""
    return "pipeline-backend" in ask("SHOW data_directory")[0][0]


def test_bookings_and_deliveries_survive_a_postgresql_that_cuts_them_off_shuts_them_out_and_crashes(
    short_lease_stack: Stack,
    organization: Organization,
    api: ApiClient,
    inbox: FastReceiver,
    measurements: dict[str, str],
) -> None:
    write_the_log_at_once()
    endpoint = make_endpoint(organization, inbox.url("ok"))
    make_backlog(endpoint, 1000)
    short_lease_stack.settings["RATE_LIMIT_PER_MINUTE"] = "100000"
    short_lease_stack.start("web", "worker")

    with booking_stream(short_lease_stack, str(api.key), threads=4) as bookings:
        wait_for(inbox.has_received(50), seconds=30)
        for fault in (cut_off, shut_out, cut_off, crash, cut_off) if is_throwaway() else (cut_off, shut_out):
            fault()
            bookings.wait_for_more(20)
    wait_for(all_events_received(inbox), seconds=60)
    short_lease_stack.flush_redis()  # no doorbell tells of the last ones: the worker's own loop must have lived
    make_backlog(endpoint, 10)
    wait_for(all_events_received(inbox), seconds=10)

    codes = [answer.status for answer, _ in bookings.responses]
    repeats = inbox.counts().total() - len(inbox.counts())
    measurements["PostgreSQL cut off, shut out, crashed"] = (
        f"{len(bookings.accepted)} bookings taken, {codes.count(503)} answered 503, {repeats} events repeated"
    )
    assert set(codes) <= {200, 201, 503}
    assert all("retry-after" in answer.headers for answer, _ in bookings.responses if answer.status == 503)
    assert events_of(organization).count("appointment.created") == len(bookings.accepted)


def write_the_log_at_once() -> None:
    """The throw-away server writes its log late, for speed; what it has confirmed must outlive a crash here."""
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("ALTER DATABASE {} SET synchronous_commit = on").format(
                sql.Identifier(connection.settings_dict["NAME"])
            )
        )
    connection.close()
