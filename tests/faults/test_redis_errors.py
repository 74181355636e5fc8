"""Redis answers with errors: bookings, what they cause, and reads all continue to work."""

import statistics
import time
from urllib.parse import urlsplit

from redis import Redis

from organizations.models import Organization
from tests.client import ApiClient
from tests.faults.backlog import make_endpoint
from tests.faults.booking_stream import all_events_received, booking_stream
from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Stack, wait_for

ERROR_SECONDS = 3.0
SLOW_SECONDS = 5.0  # a booking that waits for Redis needs at most a second more, on a machine that is otherwise idle
# The commands that cause an error, and those that end it.
ERRORS = {
    "read-only": (["REPLICAOF 127.0.0.1 9"], ["REPLICAOF NO ONE"]),
    "without its replicas": (["CONFIG SET min-replicas-to-write 1"], ["CONFIG SET min-replicas-to-write 0"]),
    "out of memory": (
        ["CONFIG SET maxmemory-policy noeviction", "CONFIG SET maxmemory 1mb"],
        ["CONFIG SET maxmemory 0"],
    ),
}
READS = ["/api/external/appointments", "/api/external/statuses", "/healthz"]


def run_commands(stack: Stack, commands: list[str]) -> None:
    with Redis.from_url(stack.redis_url) as redis:
        for command in commands:
            redis.execute_command(*command.split())


def test_a_stream_of_bookings_survives_every_error_of_redis(
    stack: Stack, organization: Organization, api: ApiClient, inbox: FastReceiver, measurements: dict[str, str]
) -> None:
    key = str(api.key)
    make_endpoint(organization, inbox.url("ok"))
    stack.start("web", "worker")
    slowest, reads = {}, set()
    with booking_stream(stack, key) as bookings:
        wait_for(inbox.has_received(5))
        for name, (begin, end) in ERRORS.items():
            before = len(bookings.responses)
            run_commands(stack, begin)
            time.sleep(ERROR_SECONDS)
            reads |= {stack.get(path, key)[0] for path in READS}
            bookings.wait_for_more(10)
            # Events arrive while the error lasts; the newest may still be on their way.
            wait_for(inbox.has_received(len(bookings.accepted) - 5))
            run_commands(stack, end)
            slowest[name] = max(bookings.durations()[before:])
    wait_for(all_events_received(inbox))
    assert stack.processes["worker"].poll() is None

    measurements["slowest booking while Redis reports to be"] = ", ".join(
        f"{name} {seconds:.2f} s" for name, seconds in slowest.items()
    )
    assert (bookings.status_codes(), reads) == ({201}, {200})
    assert set(inbox.counts().values()) == {1}
    assert statistics.median(bookings.durations()) < SLOW_SECONDS


def test_with_a_wrong_redis_password_every_event_arrives(
    stack: Stack, organization: Organization, api: ApiClient, inbox: FastReceiver
) -> None:
    make_endpoint(organization, inbox.url("ok"))
    stack.settings["REDIS_URL"] = f"redis://:wrong@127.0.0.1:{urlsplit(stack.redis_url).port}/0"
    stack.start("web", "worker")

    with booking_stream(stack, str(api.key)) as bookings:
        bookings.wait_for_more(20)
    wait_for(all_events_received(inbox))

    assert bookings.status_codes() == {201}
    assert {stack.get(path, str(api.key))[0] for path in READS} == {200}
