"""Bookings and submissions against the ordinary way and against the database alone; many clients in one organization."""

import json
from collections.abc import Callable, Iterator
from itertools import count, cycle
from typing import Any
from uuid import uuid4

from benchmarks import pgbench
from benchmarks.load import Ask, drive, post
from benchmarks.measuring import Measure, Must, Row, Scale, compare
from benchmarks.rows.reads import CONNECTIONS, pace
from benchmarks.world import OURS, YARDSTICKS, Database, World

BOOK, THEIR_BOOK = "/api/external/appointments", "/ordinary/appointments"
SUBMIT, THEIR_SUBMIT = "/api/opt-in/submit", "/ordinary/opt-ins"
RUN, NUMBERS = uuid4().hex[:8], count()
ANSWERS = [
    {"question": f"Question {number}", "answer": "An answer of some words", "position": number}
    for number in range(1, 11)
]
MANY = 16


def booking(**more: Any) -> dict[str, Any]:
    """A new lead's call."""
    number = next(NUMBERS)
    own = {
        "external_reference": f"{RUN}-{number}",
        "lead_email": f"{RUN}.{number}@example.com",
        "schedule_time": "2027-01-05T10:00:00Z",
    }
    return {
        **own,
        "event_type_name": "Strategy call",
        "lead_first_name": "Ada",
        "lead_last_name": "Lovelace",
        "notes": "Wants to know the price",
        **more,
    }


def submission() -> dict[str, Any]:
    """A new lead's form with ten answers."""
    number = next(NUMBERS)
    who = {"email": f"{RUN}.{number}@example.com", "first_name": "Ada", "last_name": "Lovelace"}
    which = {"source": "LANDING_PAGE", "external_reference": f"{RUN}-{number}"}
    traffic = {
        "utm_source": "newsletter",
        "utm_medium": "email",
        "utm_campaign": "spring",
        "landing_page": "https://example.com/start",
    }
    return {
        **who,
        **which,
        "provider_form_id": "form-1",
        "provider_form_name": "Start",
        "questions_answers": ANSWERS,
        "traffic": traffic,
    }


def sends(path: str, keys: list[str], body: Callable[[], dict[str, Any]]) -> Ask:
    """New bodies, with one key after the other."""
    turn = cycle(keys)
    return lambda: post(path, next(turn), json.dumps(body()).encode())


def rows(world: World, small: Database, scale: Scale) -> Iterator[Row]:
    """The rows of this subject."""
    key, host = small.facts["key"], small.facts["host"]
    ours, theirs = world.serve(OURS, small), world.serve(YARDSTICKS, small)

    def call() -> dict[str, Any]:
        return booking(host_email=host)

    book = pace(ours, sends(BOOK, [key], call), scale)
    yield compare(
        "create an appointment",
        "/s",
        book,
        "ordinary",
        pace(theirs, sends(THEIR_BOOK, [key], call), scale, warm=2),
        Must("≥", 2.5),
        scale,
    )
    script = world.python(small.url, "-m", "benchmarks.recording", key, host)
    alone = pgbench.pace(small.url, script, world.folder, clients=CONNECTIONS)
    yield compare(
        "create an appointment",
        "/s",
        book,
        "pgbench, 12 statements",
        lambda: alone(scale.seconds),
        Must("≥", 0.35),
        scale,
    )
    submit = pace(ours, sends(SUBMIT, [key], submission), scale)
    their_submit = pace(theirs, sends(THEIR_SUBMIT, [key], submission), scale, warm=2)
    yield compare("submit an opt-in with 10 answers", "/s", submit, "ordinary", their_submit, Must("≥", 2.5), scale)
    yield crowd(world, small, scale)


def crowd(world: World, small: Database, scale: Scale) -> Row:
    """No row that all of an organization's bookings wait for."""
    server, keys = world.serve(OURS, small), small.facts["other_keys"]

    def measure(keys: list[str]) -> Measure:
        ask = sends(BOOK, keys, booking)
        drive(server.port, ask, connections=MANY, count=MANY * 16)
        return lambda: drive(server.port, ask, connections=MANY, seconds=scale.seconds).a_second

    return compare(
        "create by 16 clients in one organization",
        "/s",
        measure(keys[:1]),
        "in 16 organizations",
        measure(keys),
        Must("≥", 0.8),
        scale,
    )
