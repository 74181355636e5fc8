"""The retry schedule, and what an attempt's result makes of its job."""

import random
from dataclasses import dataclass
from typing import Any

from pipeline_backend.outbox.models import State

MINUTE, HOUR = 60, 3600

RETRY_SCHEDULE = [0, 5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]


JITTER = 0.2


@dataclass(frozen=True)
class Result:
    """How one attempt went: an error class (empty for success), a wish of the receiver, or that no retry can help."""

    error: str = ""
    retry_after: float | None = None
    is_final: bool = False


def next_state(job: Any, result: Result) -> dict[str, Any]:
    """The state after an attempt, and the seconds until the next (None: there is none)."""
    if not result.error:
        return {"state": State.DONE.value, "gap": None}
    if result.is_final or job.attempt_count + 1 >= len(RETRY_SCHEDULE):
        return {"state": State.DEAD.value, "gap": None}
    return {"state": State.PENDING.value, "gap": retry_delay(job.attempt_count + 1, result)}


def retry_delay(attempts: int, result: Result) -> float:
    """Seconds until the next attempt: the plan ±20 %, or the receiver's wish up to twice the plan."""
    planned = RETRY_SCHEDULE[attempts]
    spread = planned * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311  # spreads load, guards nothing
    return min(max(spread, result.retry_after or 0), 2 * planned)
