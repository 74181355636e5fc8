"""The retry schedule, and the state that an attempt's result puts its job in (docs/interface.md, W15 and W16)."""

import random
from dataclasses import dataclass
from typing import Protocol, TypedDict
from uuid import UUID

from pipeline_backend.outbox.models import State

MINUTE, HOUR = 60, 3600

# Seconds between one attempt and the next; the list's length is the number of attempts.
RETRY_SCHEDULE = [0, 5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]
JITTER = 0.2


class ClaimedJob(Protocol):
    """What the dispatcher reads and sets on a claimed job, whether it is a model instance or a plain object."""

    pk: UUID
    attempt_count: int
    claim_count: int
    lease_token: UUID | None


@dataclass(frozen=True)
class Result:
    """The result of one attempt.

    `error` is an error class, empty for success. `retry_after` is the delay in seconds that the receiver asked for.
    `is_final` says that no retry can help.
    """

    error: str = ""
    retry_after: float | None = None
    is_final: bool = False


class NextState(TypedDict):
    """A job's state after an attempt, and the seconds until the next one (None if there is none)."""

    state: str
    delay: float | None


def next_state(job: ClaimedJob, result: Result) -> NextState:
    """Return the state after the attempt: done, pending again, or dead once the schedule is used up."""
    if not result.error:
        return {"state": State.DONE.value, "delay": None}
    if result.is_final or job.attempt_count + 1 >= len(RETRY_SCHEDULE):
        return {"state": State.DEAD.value, "delay": None}
    return {"state": State.PENDING.value, "delay": retry_delay(job.attempt_count + 1, result)}


def retry_delay(attempts: int, result: Result) -> float:
    """Return the seconds until the next attempt.

    The schedule with ±20 % jitter, or the receiver's `Retry-After` if that is longer; at most twice the schedule.
    """
    planned = RETRY_SCHEDULE[attempts]
    # Jitter spreads the retries of receivers that failed together; it need not be unpredictable.
    spread = planned * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
    return min(max(spread, result.retry_after or 0), 2 * planned)
