"""The report at the end of a soak test: a table of results, and the guarantees that didn't hold."""

from collections.abc import Mapping

from django.conf import settings

from tests.faults.fast_receiver import FastReceiver
from tests.soak import verification
from tests.soak.memory import MemorySamples
from tests.soak.soak import ORGANIZATION_COUNT, SoakResult
from tests.soak.staff import wrong_changes, wrong_imports
from webhooks.models import Event

MAX_EXAMPLES = 5
INTERRUPTING = ("killed", "failovers", "full disks")  # the faults after which a delivery's result may not be stored


def find_failures(result: SoakResult, inbox: FastReceiver) -> dict[str, list[str]]:
    """Return each guarantee that didn't hold, with the details."""
    traffic = result.traffic
    checks = {
        "writes lost": verification.lost_writes(traffic),
        "unexpected rows": verification.unexpected_rows(traffic),
        "requests never answered": traffic.given_up,
        "wrong responses": traffic.wrong_responses,
        "wrong imports": list(wrong_imports(result.staff)),
        "wrong merges and erasures": list(wrong_changes(result.staff)),
        "wrong events": verification.wrong_events(result.staff.changed_leads),
        "undelivered events": verification.undelivered_events(inbox),
        "events of other organizations": verification.foreign_arrivals(inbox),
        "unexplained repeats": find_unexplained_repeats(result, inbox),
        "memory grown": [name for name, samples in result.memory.items() if not samples.is_flat],
        "processes that ended by themselves": result.ended_processes,
    }
    return {name: details for name, details in checks.items() if details}


def count_repeats(inbox: FastReceiver) -> int:
    """Return how many arrivals were not the first of their event."""
    return inbox.counts().total() - len(inbox.counts())


def find_unexplained_repeats(result: SoakResult, inbox: FastReceiver) -> list[str]:
    """Return a failure if more events arrived twice than can have been on their way when a fault came."""
    kills = sum(count for name, count in result.injected_faults.items() if name.endswith(INTERRUPTING))
    repeats, in_flight = count_repeats(inbox), ORGANIZATION_COUNT * settings.WEBHOOK_REQUESTS_PER_ENDPOINT
    return [f"{repeats} events repeated by {kills} interruptions"] if repeats > kills * in_flight else []


def result_table(result: SoakResult, inbox: FastReceiver) -> dict[str, str]:
    """Return the rows of the table by title."""
    traffic, failures = result.traffic, find_failures(result, inbox)
    requests = traffic.requests.total()
    per_second = f"{requests / result.seconds:.0f} a second"
    seconds = sorted(traffic.seconds)
    median, p99 = seconds[len(seconds) // 2] * 1000, seconds[int(len(seconds) * 0.99)] * 1000
    writes = {"bookings": len(traffic.booked), "cancels": len(traffic.canceled), "submits": len(traffic.submitted)}
    status_codes = (f"{count} {code or 'none'}" for code, count in sorted(traffic.status_codes.items()))
    repeats = count_repeats(inbox)
    return {
        "load held": f"{requests} requests in {result.seconds:.0f} s, {per_second} ({list_counts(traffic.requests)})",
        "response time": f"{median:.0f} ms median, {p99:.0f} ms 99th percentile",
        "status codes": ", ".join(status_codes),
        "faults survived": f"{result.injected_faults.total()} ({list_counts(result.injected_faults)})",
        "writes accepted": f"{sum(writes.values())} ({list_counts(writes)})",
        "acts of staff": f"{list_counts(result.staff.counts())}, {sum(map(len, result.staff.files.values()))} rows",
        "writes lost": str(len(failures.get("writes lost", []))),
        "events delivered": f"{len(inbox.counts())} of {Event.unscoped.count()}, {repeats} of them twice",
        # After the warm-up, in the middle and at the end.
        "memory in MiB": ", ".join(format_memory(name, samples) for name, samples in result.memory.items()),
    }


def format_memory(name: str, samples: MemorySamples) -> str:
    return f"{name} {samples.first:.1f}, {samples.middle:.1f}, {samples.last:.1f} ({samples.growth:+.1%})"


def list_counts(counts: Mapping[str, int]) -> str:
    """Return "3 bookings, 2 cancels"."""
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def render_report(result: SoakResult, inbox: FastReceiver) -> str:
    """Return the table, and below it each guarantee that didn't hold, with some examples."""
    rows = [f"{title:<18}{value}" for title, value in result_table(result, inbox).items()]
    failures = [
        f"FAILED {name}: {len(details)}, such as {'; '.join(details[:MAX_EXAMPLES])}"
        for name, details in find_failures(result, inbox).items()
    ]
    return "\n".join([*rows, *failures])
