"""Writing what came of attempts, many at a time: while one statement runs, the results for the next one gather.

Nobody goes on before his own is written, so a worker that dies has sent at most one job for each connection whose
result is not in the database. A statement for eight results costs little more than one for a single result.
"""

import asyncio
from typing import Any

import orjson
from django.db import connection

from pipeline_backend.outbox.executor import Executor

ResultRow = dict[str, Any]

# The entries are JSON: one parameter, however many there are. `locked` says what to do about rows that others hold.
# LATERAL and ANY keep PostgreSQL, which knows nothing of the entries' number, from reading the whole table for them.
SAVE_RESULTS = """
WITH given AS (
    SELECT * FROM json_to_recordset(%s::json) AS given(id uuid, token uuid, state text, error text, gap float{columns})
), mine AS (
    SELECT job.id FROM given CROSS JOIN LATERAL (
        SELECT id FROM {table} WHERE id = given.id AND lease_token = given.token AND state = 'PENDING' FOR NO KEY UPDATE {locked}
    ) AS job
), settled AS (
    UPDATE {table} AS job SET
        state = given.state, attempts = job.attempts + 1, claims = 0, lease_token = NULL, last_error = given.error,
        next_attempt_at = statement_timestamp() + given.gap * interval '1 second',
        finished_at = CASE WHEN given.gap IS NULL THEN statement_timestamp() END
    FROM given WHERE job.id = given.id AND job.id = ANY (ARRAY(SELECT id FROM mine))
    RETURNING job.id
){record}
SELECT id FROM settled
"""


class ResultStatements:
    """The statements of one queue; `record` notes the results, and `known` joins those with the ones that count."""

    def __init__(self, table: str, columns: str, record: str) -> None:
        def statement(*, locked: str, known: str) -> str:
            return SAVE_RESULTS.format(
                table=table, columns=columns, locked=locked, record=record.format(locked=locked, known=known)
            )

        self.many = statement(locked="SKIP LOCKED", known="JOIN")
        self.one = statement(locked="", known="LEFT JOIN")

    def alone(self, entry: ResultRow) -> bool:
        """Write one result; False if its lease was lost, which is recorded."""
        return entry["id"] in save_results(self.one, [entry])


def save_results(statement: str, entries: list[ResultRow]) -> set[Any]:
    """The ids of those entries whose leases were still theirs."""
    with connection.cursor() as cursor:
        cursor.execute(statement, [orjson.dumps(entries).decode()])
        return {id for (id,) in cursor.fetchall()}


class ResultBatcher:
    """One statement at a time for all that a loop delivers of a queue."""

    def __init__(self, settlement: ResultStatements, desk: Executor, writer: Executor) -> None:
        self.settlement = settlement
        self.desk = desk  # where a statement may wait for somebody's lock
        self.writer = writer  # where none does
        self.waiting: list[tuple[ResultRow, asyncio.Future[bool]]] = []
        self.writing: asyncio.Task[None] | None = None

    async def settle(self, entry: ResultRow) -> bool:
        """Write a result, and wait until it is written; False if its lease was lost, which is recorded.

        A success waits for nobody's lock: it is written with others', and alone only where that failed. A failure is
        written alone, to count the failures in a row right.
        """
        is_ours = not entry["error"] and await self.along(entry)
        return is_ours or await self.desk.ask(self.settlement.alone, entry)

    async def along(self, entry: ResultRow) -> bool:
        """True if it was written with others; False if it has to be tried alone: its row is held, lost, or the statement failed."""
        is_written: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.waiting.append((entry, is_written))
        if self.writing is None:
            self.writing = asyncio.create_task(self.write_all())
        return await is_written

    async def write_all(self) -> None:
        """What is waiting, and again what has come meanwhile, until there is no more."""
        while self.waiting:
            batch, self.waiting = self.waiting, []
            written = await self.attempt([entry for entry, _ in batch])
            for entry, is_written in batch:
                if not is_written.cancelled():
                    is_written.set_result(entry["id"] in written)
        self.writing = None

    async def attempt(self, entries: list[ResultRow]) -> set[Any]:
        """The ids that were written."""
        try:
            return await self.writer.ask(save_results, self.settlement.many, entries)
        except Exception:
            return set()  # each is tried alone, and fails there for itself
