"""The closing table of a soak, and whether its promises held."""

from tests.faults.fast_receiver import FastReceiver
from tests.soak import verdict
from tests.soak.memory import Memory
from tests.soak.soak import Outcome
from webhooks.models import Event

SHOWN = 5


def failures(outcome: Outcome, inbox: FastReceiver) -> dict[str, list[str]]:
    """Each promise that was broken, with what broke it."""
    journal = outcome.journal
    found = {
        "writes lost": verdict.lost(journal),
        "writes that nobody accepted": verdict.unaccounted(journal),
        "requests never answered": journal.given_up,
        "wrong answers": journal.wrong,
        "events wrong": verdict.wrong_events(),
        "events undelivered": verdict.undelivered(inbox),
        "repeats without a kill": unexplained(outcome, inbox),
        "memory grown": [name for name, memory in outcome.memories.items() if not memory.is_flat],
        "parts that ended by themselves": outcome.ended,
    }
    return {name: wrong for name, wrong in found.items() if wrong}


def repeats(inbox: FastReceiver) -> int:
    """How many arrivals were not the first of their event."""
    return inbox.counts().total() - len(inbox.counts())


def unexplained(outcome: Outcome, inbox: FastReceiver) -> list[str]:
    """More events repeated than processes killed."""
    kills = sum(count for name, count in outcome.survived.items() if name.endswith("killed"))
    return [f"{repeats(inbox)} events repeated by {kills} kills"] if repeats(inbox) > kills else []


def table(outcome: Outcome, inbox: FastReceiver) -> dict[str, str]:
    """What was found, row by row."""
    journal, wrong = outcome.journal, failures(outcome, inbox)
    requests = journal.requests.total()
    accepted = {"bookings": len(journal.booked), "cancels": len(journal.canceled), "submits": len(journal.submitted)}
    seconds = sorted(journal.seconds)
    return {
        "load held": f"{requests} requests in {outcome.seconds:.0f} s, {requests / outcome.seconds:.0f} a second ({counted(journal.requests)})",
        "answered within": f"{seconds[len(seconds) // 2] * 1000:.0f} ms half, {seconds[int(len(seconds) * 0.99)] * 1000:.0f} ms 99 %",
        "answers": ", ".join(f"{count} {code or 'none'}" for code, count in sorted(journal.codes.items())),
        "faults survived": f"{outcome.survived.total()} ({counted(outcome.survived)})",
        "writes accepted": f"{sum(accepted.values())} ({counted(accepted)})",
        "writes lost": str(len(wrong.get("writes lost", []))),
        "events delivered": f"{len(inbox.counts())} of {Event.unscoped.count()}, {repeats(inbox)} of them twice",
        # warmed up, in the middle, at the end
        "memory in MiB": ", ".join(described(name, memory) for name, memory in outcome.memories.items()),
    }


def described(name: str, memory: Memory) -> str:
    return f"{name} {memory.first:.1f}, {memory.middle:.1f}, {memory.last:.1f} ({memory.growth:+.1%})"


def counted(numbers: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in numbers.items())


def text(outcome: Outcome, inbox: FastReceiver) -> str:
    """The table, and below it every promise that was broken."""
    rows = [f"{name:<18}{value}" for name, value in table(outcome, inbox).items()]
    broken = [
        f"BROKEN {name}: {len(found)}, such as {'; '.join(found[:SHOWN])}"
        for name, found in failures(outcome, inbox).items()
    ]
    return "\n".join([*rows, *broken])
