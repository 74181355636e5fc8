"""`python -m benchmarks [--quick]`, with DATABASE_URL and REDIS_URL of servers that are for this alone (`make bench` starts them)."""

import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from benchmarks.measuring import HEAD, QUICK, WHOLE, Row, Scale, line, write
from benchmarks.rows import filters, growth, reads, writes
from benchmarks.world import ROOT, World

SMALL = 1_000


def main(scale: Scale) -> None:
    """Print the table line by line, and leave it as JSON."""
    began, found = time.monotonic(), []
    say(HEAD)
    with tempfile.TemporaryDirectory() as folder, World(Path(folder)) as world:
        for row in rows(world, scale):
            found.append(row)
            say(line(row))
    write(ROOT / ".data" / "bench.json", found)
    say(f"\n{sum(row.holds for row in found)} of {len(found)} rows hold, after {time.monotonic() - began:.0f} seconds.")


def rows(world: World, scale: Scale) -> Iterator[Row]:
    """All of the table."""
    small = world.database("bench_small", SMALL)
    large = world.database("bench_large", scale.rows)
    yield from reads.rows(world, small, large, scale)
    yield from filters.rows(world, small, large, scale)
    yield from writes.rows(world, small, scale)
    yield from growth.rows(world, small, scale)


def say(text: str) -> None:
    """At once, also into a pipe."""
    print(text, flush=True)  # noqa: T201


def end(number: int, _frame: object) -> NoReturn:
    """Leave in order, so that what was started ends too."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end)
    main(QUICK if "--quick" in sys.argv else WHOLE)
