"""Writing what came of attempts, many at a time: whoever has a result writes along what others brought meanwhile.

Nobody goes on before his own is written, so a worker that dies has sent at most one job for each connection whose
result is not in the database. A statement for eight results costs little more than one for a single result.
"""

import os
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

import orjson
from django.db import DatabaseError, connection

Entry = dict[str, Any]

# The entries are JSON: one parameter, however many there are. `locked` says what to do about rows that others hold.
# LATERAL and ANY keep PostgreSQL, which knows nothing of the entries' number, from reading the whole table for them.
SETTLE = """
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


@dataclass
class Seat:
    """A place in the next statement, for one who waits for it."""

    entry: Entry
    turn: threading.Lock = field(default_factory=threading.Lock)
    batch: list["Seat"] | None = None
    is_written: bool = False


class Settlement:
    """The statements of one queue; `record` notes the results, and `known` joins those with the ones that count."""

    def __init__(self, table: str, columns: str, record: str) -> None:
        def statement(*, locked: str, known: str) -> str:
            return SETTLE.format(table=table, columns=columns, locked=locked, record=record.format(locked=locked, known=known))

        self.many = statement(locked="SKIP LOCKED", known="JOIN")
        self.one = statement(locked="", known="LEFT JOIN")
        self.together = Together(lambda entries: write(self.many, entries))

    def settle(self, entry: Entry) -> bool:
        """Write a result; False if its lease was lost, which is recorded.

        A success waits for nobody's lock: it is written with others', and alone only where that failed. A failure is
        written alone, to count the failures in a row right.
        """
        is_ours = not entry["error"] and self.together.settle(entry)
        return is_ours or entry["id"] in write(self.one, [entry])


def write(statement: str, entries: list[Entry]) -> set[Any]:
    """The ids of those entries whose leases were still theirs."""
    with connection.cursor() as cursor:
        cursor.execute(statement, [orjson.dumps(entries).decode()])
        return {id for (id,) in cursor.fetchall()}


class Together:
    """One statement at a time for all the threads of a process."""

    def __init__(self, write: Callable[[list[Entry]], Collection[Any]]) -> None:
        self.write = write
        self.begin()
        os.register_at_fork(after_in_child=self.begin)  # whoever was writing is not here

    def begin(self) -> None:
        """Nobody writes, nobody waits."""
        self.lock = threading.Lock()
        self.waiting: list[Seat] = []
        self.is_busy = False

    def settle(self, entry: Entry) -> bool:
        """True if it is written now; False if it has to be tried alone: its row is held, lost, or the statement failed."""
        seat = Seat(entry)
        if not self.leads(seat):
            seat.turn.acquire()
        if seat.batch:
            self.lead(seat.batch)
        return seat.is_written

    def leads(self, seat: Seat) -> bool:
        """True if nobody is writing; else the seat waits for its turn."""
        with self.lock:
            if self.is_busy:
                seat.turn.acquire()
                self.waiting.append(seat)
                return False
            self.is_busy, seat.batch = True, [seat]
            return True

    def lead(self, batch: list[Seat]) -> None:
        """Write for all of the batch, and let the first of those who came meanwhile write the next one."""
        written: Collection[Any] = ()
        try:
            written = self.write([seat.entry for seat in batch])
        except DatabaseError:
            pass  # each tries alone, on a connection of his own, and hears of it there
        finally:
            self.hand_over()
            for seat in batch:
                seat.is_written = seat.entry["id"] in written
                if seat is not batch[0]:
                    seat.turn.release()

    def hand_over(self) -> None:
        """The first of those who wait leads next."""
        with self.lock:
            following, self.waiting = self.waiting, []
            self.is_busy = bool(following)
        if following:
            following[0].batch = following
            following[0].turn.release()
