"""What one more worker brings, what a worker holds after many requests, and what the deliveries get done."""

import json
from collections.abc import Iterator

from benchmarks.load import always, drive, get
from benchmarks.measuring import Must, Row, Scale, Side, compare
from benchmarks.rows.reads import CONNECTIONS, OUR_LIST, pace
from benchmarks.world import OURS, Database, World

WARM = 3_000  # until then the threads' pools of memory fill


def rows(world: World, small: Database, scale: Scale) -> Iterator[Row]:
    """The rows of this subject."""
    yield memory(world, small, scale)
    yield more_web(world, small, "/api/external/statuses", "statuses", scale)
    yield more_web(world, small, f"{OUR_LIST}?limit=10", "list of 10", scale)
    yield more_web_alone(world, small, scale)
    yield from deliveries(world, small, scale)


def memory(world: World, small: Database, scale: Scale) -> Row:
    """What a worker of its own holds, once all its threads have served, and after many more requests."""
    server = world.start(OURS, small, 1)
    ask, many = always(get(f"{OUR_LIST}?limit=100", small.facts["key"])), scale.memory_requests
    drive(server.port, ask, connections=CONNECTIONS, count=WARM)
    before = server.memory() / 2**20
    drive(server.port, ask, connections=CONNECTIONS, count=many)
    after = server.memory() / 2**20
    world.stop(server)
    return Row(
        f"memory of a web worker after {many:,} lists of 100",
        "MB",
        Side([after]),
        f"after {WARM:,}",
        Side([before]),
        Must("≤", 1.1),
    )


def more_web(world: World, small: Database, path: str, name: str, scale: Scale) -> Row:
    """Two web workers against one; PostgreSQL, Redis and the client are on the same two cores."""
    ask = always(get(path, small.facts["key"]))
    one, two = (pace(world.serve(OURS, small, workers), ask, scale) for workers in (1, 2))
    return compare(
        f"two web workers, {name}", "/s", two, "one, PostgreSQL on the same cores", one, Must("≥", 1.6), scale
    )


def more_web_alone(world: World, small: Database, scale: Scale) -> Row:
    """The same where neither PostgreSQL nor Redis has a part: a client that goes on past its limit (one request a minute is let through)."""
    ask = always(get("/api/external/statuses", small.facts["eager_key"]))
    one, two = (pace(world.serve(OURS, small, workers), ask, scale, expected=(b"200", b"429")) for workers in (1, 2))
    return compare(
        "two web workers, refused past the limit", "/s", two, "one, PostgreSQL not asked", one, Must("≥", 1.6), scale
    )


def deliveries(world: World, small: Database, scale: Scale) -> Iterator[Row]:
    """Events that a worker delivers against tasks that it only takes; two workers against one."""
    said = world.python(small.url, "-m", "benchmarks.delivering", str(scale.events), str(scale.delivery_rounds))
    found = json.loads(said.splitlines()[-1])  # before it stand the workers' last words
    events, tasks, both, far, far_both = (
        Side(found[name]) for name in ("events", "tasks", "events of two", "far events", "far events of two")
    )
    yield Row("events delivered", "/s", events, "Celery tasks that do nothing", tasks, Must("≥", 2))
    yield Row("two delivery workers", "events/s", both, "one", events, Must("≥", 1.6))
    yield Row("two delivery workers, receivers that take 0.3 s", "events/s", far_both, "one", far, Must("≥", 1.6))
