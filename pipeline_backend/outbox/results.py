"""Stores the results of attempts, many in one statement (group commit).

While one statement runs, the results for the next one collect. Each connection waits until its own result is stored
before it sends again, so a killed worker repeats at most one delivery per connection. Eight results cost little more
than one (docs/decisions/0006).
"""

import asyncio
from typing import Any
from uuid import UUID

import orjson
from django.db import connection

from pipeline_backend.outbox.executor import Executor

ResultRow = dict[str, Any]

# Results are passed as one JSON parameter. `lock_clause` is SKIP LOCKED for batches and empty for single rows.
# `owned` are the jobs whose lease is still ours. A queue may add columns to `input` and CTEs after `updated`.
# LATERAL and ANY (ARRAY ...) are there because PostgreSQL can't estimate the size of `input` and would otherwise scan
# the whole table for it.
SAVE_RESULTS = """
WITH input AS (
    SELECT *
    FROM json_to_recordset(%s::json)
        AS input (id uuid, token uuid, state text, error text, delay float{columns})
), owned AS (
    SELECT job.id
    FROM input
    CROSS JOIN LATERAL (
        SELECT id
        FROM {table}
        WHERE id = input.id AND lease_token = input.token AND state = 'PENDING'
        FOR NO KEY UPDATE {lock_clause}
    ) AS job
), updated AS (
    UPDATE {table} AS job
    SET state = input.state,
        attempts = job.attempts + 1,
        claims = 0,
        lease_token = NULL,
        last_error = input.error,
        next_attempt_at = statement_timestamp() + input.delay * interval '1 second',
        finished_at = CASE WHEN input.delay IS NULL THEN statement_timestamp() END
    FROM input
    WHERE job.id = input.id AND job.id = ANY (ARRAY(SELECT id FROM owned))
    RETURNING job.id
){ctes}
SELECT id FROM updated
"""


class ResultStatements:
    """The two statements that store a queue's results: for a batch, and for a single result.

    A batch skips rows that are locked or no longer ours; each of those is stored by itself afterwards. Only the
    single statement sees every result, so only there `{join}` is a LEFT JOIN, which also records lost leases.
    """

    def __init__(self, table: str, columns: str, result_ctes: str) -> None:
        def build(lock_clause: str, join: str) -> str:
            ctes = result_ctes.format(lock_clause=lock_clause, join=join)
            return SAVE_RESULTS.format(table=table, columns=columns, lock_clause=lock_clause, ctes=ctes)

        self.batch = build("SKIP LOCKED", "JOIN")
        self.single = build("", "LEFT JOIN")

    def save_single(self, row: ResultRow) -> bool:
        """Store one result, waiting for its row. Return False if the lease was lost; the attempt is still recorded."""
        return row["id"] in save_results(self.single, [row])


def save_results(statement: str, rows: list[ResultRow]) -> set[UUID]:
    """Run the statement and return the ids of the jobs that it updated."""
    with connection.cursor() as cursor:
        cursor.execute(statement, [orjson.dumps(rows).decode()])
        return {id for (id,) in cursor.fetchall()}


class ResultBatcher:
    """Collects the results of one event loop and one queue into batches, with one statement running at a time."""

    def __init__(self, statements: ResultStatements, executor: Executor, writer: Executor) -> None:
        self.statements = statements
        self.executor = executor  # for single results, which may wait for a lock
        self.writer = writer  # for batches, which never wait
        self.pending: list[tuple[ResultRow, asyncio.Future[bool]]] = []
        self.flush_task: asyncio.Task[None] | None = None

    async def save_result(self, row: ResultRow) -> bool:
        """Store a result and wait until it is stored. Return False if the lease was lost."""
        # Failures are stored one by one, so that an endpoint's consecutive failures are counted in order.
        if not row["error"] and await self.save_batched(row):
            return True
        return await self.executor.run(self.statements.save_single, row)

    async def save_batched(self, row: ResultRow) -> bool:
        """Store a result with others. Return False if its row was locked, its lease lost, or the statement failed."""
        is_stored: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.pending.append((row, is_stored))
        if self.flush_task is None:
            self.flush_task = asyncio.create_task(self._flush_loop())
        return await is_stored

    async def _flush_loop(self) -> None:
        while self.pending:
            batch, self.pending = self.pending, []
            stored = await self._flush([row for row, _ in batch])
            for row, is_stored in batch:
                if not is_stored.cancelled():
                    is_stored.set_result(row["id"] in stored)
        self.flush_task = None

    async def _flush(self, rows: list[ResultRow]) -> set[UUID]:
        try:
            return await self.writer.run(save_results, self.statements.batch, rows)
        except Exception:
            return set()  # each is stored by itself next, and raises there if it fails again
