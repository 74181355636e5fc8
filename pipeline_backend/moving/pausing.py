"""Pausing an organization: nothing writes to it or sends for it any more, and its clients are asked to repeat."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from django.conf import settings
from django.db import connection, transaction

from leads.imports.models import ImportTurn
from organizations.models import Move, Organization, SecurityEventKind
from organizations.security_log import record_security_event
from organizations.services import lock_organization
from pipeline_backend.moving import Refused
from pipeline_backend.moving.tables import Catalog

# A request that was let in just before has begun its transaction by then, and a periodic task looks again whether the
# organization is active.
GRACE_SECONDS = 5.0
# Longer than a lease, a turn of an import and any transaction of the service.
MOST_SECONDS = 180
POLL_SECONDS = 0.2
# Dumps read for hours, and write nothing.
OLDER_TRANSACTIONS = """
SELECT count(*)
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start < %s AND application_name <> 'pg_dump'
"""
LEASES = """
SELECT count(*) FROM {table}
WHERE ({condition}) AND state = 'PENDING' AND lease_token IS NOT NULL AND next_attempt_at > now()
"""
LOCK = "SELECT pg_try_advisory_lock(hashtextextended('move ' || %s, 0))"
UNLOCK = "SELECT pg_advisory_unlock(hashtextextended('move ' || %s, 0))"


@contextmanager
def only_one(organization_id: object) -> Iterator[None]:
    """Raise Refused if another process exports, imports or deletes the organization. Lifts the statement time-out."""
    if settings.DATABASE_POOLER == "transaction":
        raise Refused("This needs a session: run it with PostgreSQL's own address and without DATABASE_POOLER")
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [str(organization_id)])
        if cursor.fetchone() != (True,):
            raise Refused("Another process is exporting, importing or deleting this organization")
        cursor.execute("SET statement_timeout = 0")
    try:
        yield
    finally:
        if connection.connection is not None and not connection.connection.closed:
            with connection.cursor() as cursor:
                cursor.execute(UNLOCK, [str(organization_id)])
                cursor.execute("RESET statement_timeout")


@transaction.atomic
def pause(*, organization: Organization) -> None:
    """Make the organization inactive and mark it; requests with its keys get 503 from now on. Locks it.

    Safe to repeat. Raises Refused if it is not active for another reason.
    """
    lock_organization(organization)
    organization.refresh_from_db()
    if organization.move == Move.OUT:
        return
    if not organization.is_active:
        raise Refused(f"{organization} is not active")
    organization.is_active, organization.move = False, Move.OUT
    organization.save(update_fields=["is_active", "move"])
    log_change(organization, "paused, to be moved")


@transaction.atomic
def resume(*, organization: Organization) -> None:
    """Undo a pause. Raises Refused if the organization isn't paused. Locks it."""
    lock_organization(organization)
    organization.refresh_from_db()
    if organization.move != Move.OUT:
        raise Refused(f"{organization} is not paused")
    organization.is_active, organization.move = True, ""
    organization.save(update_fields=["is_active", "move"])
    log_change(organization, "active again")


def log_change(organization: Organization, details: str) -> None:
    record_security_event(SecurityEventKind.ORGANIZATION_CHANGED, organization=organization, details=details)


def wait_until_quiet(organization: Organization) -> None:
    """Wait until nothing that began before the pause is at work for the organization any more.

    Waits for transactions, then for deliveries and e-mails, then for turns. Raises Refused if one of the three takes
    longer than `MOST_SECONDS`.
    """
    with connection.cursor() as cursor:
        time.sleep(GRACE_SECONDS)
        cursor.execute("SELECT statement_timestamp()")
        [start] = cursor.fetchone()
        tables = Catalog().tables(organization.pk)
        leases = [
            LEASES.format(table=table.name, condition=table.condition)
            for table in tables
            if "lease_token" in table.columns
        ]

        def count(sql: str, *params: datetime) -> int:
            cursor.execute(sql, params)
            return int(cursor.fetchone()[0])

        wait(lambda: not count(OLDER_TRANSACTIONS, start), "a transaction that began before the pause")
        wait(lambda: not any(map(count, leases)), "a webhook or an e-mail that is being sent")
        # By the database's clock, as turns are.
        turns = ImportTurn.objects.of(organization).extra(where=["expires_at > clock_timestamp()"])
        wait(lambda: not turns.exists(), "an import or an erasure")


def wait(is_over: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + MOST_SECONDS
    while not is_over():
        if time.monotonic() > end:
            raise Refused(f"After {MOST_SECONDS} seconds, {what} still lasts; try again later")
        time.sleep(POLL_SECONDS)
