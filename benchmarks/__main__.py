"""`python -m benchmarks [--quick]` runs all benchmarks. `make bench` starts it on servers of its own.

DATABASE_URL and REDIS_URL must name servers that nothing else uses: the run creates databases and uses all of the CPU.
"""

import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from benchmarks.environment import ROOT, Environment
from benchmarks.measurement import FULL, QUICK, TABLE_HEAD, Comparison, Scale, table_row, write_json
from benchmarks.suites import list_filters, neighbors, parsing, pooler, reads, scaling, writes

SMALL_DATABASE = 1_000  # appointments


def main(scale: Scale) -> None:
    """Print the table row by row, and store it as JSON."""
    started_at = time.monotonic()
    results: list[Comparison] = []
    output(TABLE_HEAD)
    with tempfile.TemporaryDirectory() as folder, Environment(Path(folder)) as environment:
        for comparison in run_suites(environment, scale):
            results.append(comparison)
            output(table_row(comparison))
    write_json(ROOT / ".data" / "bench.json", results)
    met = sum(comparison.is_met for comparison in results)
    output(f"\n{met} of {len(results)} targets met, in {time.monotonic() - started_at:.0f} seconds.")


def run_suites(environment: Environment, scale: Scale) -> Iterator[Comparison]:
    """Create both databases and yield the comparisons of every suite."""
    yield from parsing.run(scale)
    small = environment.create_database("bench_small", SMALL_DATABASE)
    large = environment.create_database("bench_large", scale.appointments)
    yield from reads.run(environment, small, large, scale)
    yield from list_filters.run(environment, small, large, scale)
    yield from neighbors.run(environment, large, scale)
    yield from writes.run(environment, small, scale)
    yield from scaling.run(environment, small, scale)
    if pooler.is_available():
        yield from pooler.run(environment, small, scale)
    else:
        output("\nNOT MEASURED: PgBouncer is missing; install Debian's package pgbouncer.")


def output(text: str) -> None:
    """Print without buffering, because each row takes seconds and the output is often a pipe."""
    print(text, flush=True)  # noqa: T201


def exit_on_signal(number: int, _frame: object) -> NoReturn:
    """Exit through the context managers, so that the processes of the run are stopped."""
    sys.exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, exit_on_signal)
    main(QUICK if "--quick" in sys.argv else FULL)
