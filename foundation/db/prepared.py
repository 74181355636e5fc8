"""Prepared statements: which the busiest code prepares at once, and that they outlive a rollback."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.backends.utils import CursorWrapper
from django.dispatch import receiver
from psycopg._preparing import Prepare, PrepareManager
from psycopg.pq.abc import PGresult

CHANGES_TABLES = re.compile(rb"(ALTER|DROP|DISCARD|DEALLOCATE)\b")


class PreparedStatements(PrepareManager):
    """Keeps a connection's prepared statements when a transaction or savepoint is rolled back.

    psycopg forgets them then, because the transaction may have changed tables. Only migrations do that here. After each
    refused booking, the next twelve lists on its connection would take half as much CPU time again.
    """

    def clear(self) -> bool:
        """Do nothing: psycopg calls this after a rollback."""
        return False

    def _should_discard(self, prep: Prepare, results: Sequence[PGresult]) -> bool:  # type: ignore[override]
        if any(CHANGES_TABLES.match(result.command_status or b"") for result in results):
            return super().clear()
        return False


@receiver(connection_created)
def keep_prepared_statements(signal: object, sender: object, connection: BaseDatabaseWrapper, **_: object) -> None:
    psycopg_connection = connection.connection
    statements = PreparedStatements()
    statements.prepare_threshold = psycopg_connection.prepare_threshold
    psycopg_connection._prepared = statements


@contextmanager
def preparing_cursor() -> Iterator[CursorWrapper]:
    """Open a cursor that prepares statements on first use, not after five. For few statements with a fixed text."""
    with connection.cursor() as cursor:
        psycopg_connection = connection.connection
        threshold = psycopg_connection.prepare_threshold
        psycopg_connection.prepare_threshold = None if threshold is None else 0
        try:
            yield cursor
        finally:
            psycopg_connection.prepare_threshold = threshold
