"""Lists, details and statuses against the ordinary way, and against views that answer only bytes."""

import json
import urllib.request
from collections.abc import Iterator

from benchmarks.load import SUCCESS, Ask, always, drive, each, get
from benchmarks.measuring import Measure, Must, Row, Scale, compare
from benchmarks.world import OURS, YARDSTICKS, Database, Server, World

CONNECTIONS = 8
MILLION = 1_000_000
OUR_LIST, THEIR_LIST = "/api/external/appointments", "/ordinary/appointments"


def pace(server: Server, ask: Ask, scale: Scale, *, warm: int = 24, expected: tuple[bytes, ...] = SUCCESS) -> Measure:
    """Requests a second, each connection's statements prepared and planned for good before."""
    drive(server.port, ask, connections=CONNECTIONS, count=CONNECTIONS * warm, expected=expected)
    return lambda: drive(server.port, ask, connections=CONNECTIONS, seconds=scale.seconds, expected=expected).a_second


def rows(world: World, small: Database, large: Database, scale: Scale) -> Iterator[Row]:
    """The rows of this subject."""
    yield from lists(world, small, scale, f"list of 10, {1_000:,} rows", 10, Must("≥", 8))
    yield from lists(world, small, scale, f"list of 100, {1_000:,} rows", 100, Must("≥", 8))
    yield from lists(
        world, large, scale, f"list of 10, {scale.rows:,} rows", 10, Must("≥", 40 if scale.rows >= MILLION else 8)
    )
    yield from details(world, small, scale)
    yield from statuses(world, small, scale)


def lists(world: World, database: Database, scale: Scale, work: str, limit: int, must: Must) -> Iterator[Row]:
    """The newest, with the key, the limits and the total."""
    key = database.facts["key"]
    check_that_they_agree(world, database, f"?limit={limit}")
    ours = pace(world.serve(OURS, database), always(get(f"{OUR_LIST}?limit={limit}", key)), scale)
    theirs = pace(world.serve(YARDSTICKS, database), always(get(f"{THEIR_LIST}?limit={limit}", key)), scale, warm=2)
    yield compare(work, "/s", ours, "ordinary", theirs, must, scale)


def details(world: World, database: Database, scale: Scale) -> Iterator[Row]:
    """One after the other."""
    key, ids = database.facts["key"], database.facts["details"]
    check_that_they_agree(world, database, f"/{ids[0]}")
    ours = pace(world.serve(OURS, database), each([get(f"{OUR_LIST}/{id}", key) for id in ids]), scale)
    theirs = pace(
        world.serve(YARDSTICKS, database), each([get(f"{THEIR_LIST}/{id}", key) for id in ids]), scale, warm=2
    )
    yield compare("detail", "/s", ours, "ordinary", theirs, Must("≥", 4), scale)


def statuses(world: World, database: Database, scale: Scale) -> Iterator[Row]:
    """Against the same number of bytes."""
    key, path = database.facts["key"], "/api/external/statuses"
    server = world.serve(OURS, database)
    size = len(read(server, path, key))
    hello = pace(world.serve(YARDSTICKS, database), always(get(f"/hello/{size}", key)), scale)
    yield compare("statuses", "/s", pace(server, always(get(path, key)), scale), "hello", hello, Must("≥", 0.5), scale)


def check_that_they_agree(world: World, database: Database, which: str) -> None:
    """A yardstick that answered something else would measure nothing."""
    key = database.facts["key"]
    ours = json.loads(read(world.serve(OURS, database), OUR_LIST + which, key))["data"]
    theirs = json.loads(
        read(world.serve(YARDSTICKS, database), THEIR_LIST + which, key).replace(b"000Z", b"Z")
    )  # it shows microseconds
    assert theirs.get("results", theirs) == ours, which


def read(server: Server, path: str, key: str) -> bytes:
    """One answer's body."""
    with urllib.request.urlopen(
        urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", headers={"x-api-key": key})
    ) as answer:
        return bytes(answer.read())
