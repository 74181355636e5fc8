"""PostgreSQL fails over to a standby with synchronous replication: nothing that was answered is lost.

`FAILOVERS=20 make test ARGS="tests/faults/test_failover.py -n 0"` repeats it.
"""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.db import connection

from appointments.models import Appointment
from organizations.models import Organization
from tests.client import ApiClient
from tests.databases import connected_to
from tests.faults.backlog import make_endpoint
from tests.faults.booking_stream import all_events_received, booking_stream
from tests.faults.fast_receiver import FastReceiver
from tests.faults.postgres_pair import postgres_pair
from tests.faults.stack import Stack, wait_for
from webhooks.models import Event

FAILOVERS = int(os.environ.get("FAILOVERS", "1"))
LIMIT = 100


class Reader:
    """Reads the events feed as an integrator does: each time after the last event that it has."""

    def __init__(self, stack: Stack, key: str) -> None:
        self.stack, self.key = stack, key
        self.events: list[str] = []

    def read(self) -> bool:
        """Read one page; return whether there may be more."""
        after = f"&after={self.events[-1]}" if self.events else ""
        status, body = self.stack.get(f"/api/external/events?limit={LIMIT}{after}", self.key)
        new = [event["id"] for event in body["data"]] if status == 200 else []
        self.events += new
        return status != 200 or bool(new)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read all the time until the end of the block, and then the rest."""
        is_stopped = threading.Event()

        def read_until_stopped() -> None:
            while not is_stopped.wait(0.1):
                self.read()

        thread = threading.Thread(target=read_until_stopped)
        thread.start()
        try:
            yield
        finally:
            is_stopped.set()
            thread.join(60)
        wait_for(lambda: not self.read())


def test_a_failover_loses_nothing_that_was_answered_and_events_stay_in_order(
    short_lease_stack: Stack,
    organization: Organization,
    api: ApiClient,
    inbox: FastReceiver,
    tmp_path: Path,
    measurements: dict[str, str],
) -> None:
    stack, key = short_lease_stack, str(api.key)
    make_endpoint(organization, inbox.url("ok"))
    with postgres_pair(tmp_path) as servers, connected_to(servers.url):
        stack.settings["DATABASE_URL"] = servers.url
        stack.start("web", "worker")
        reader = Reader(stack, key)
        with reader.reading(), booking_stream(stack, key, threads=4) as bookings:
            for number in range(FAILOVERS):
                if number:
                    servers.add_standby()
                bookings.wait_for_more(20)
                refused = len(bookings.refused())
                servers.kill_primary()
                wait_for(lambda: len(bookings.refused()) > refused)  # noqa: B023
                servers.promote_standby()
                bookings.wait_for_more(20)
        wait_for(all_events_received(inbox))
        connection.close()
        stored = Counter(Appointment.unscoped.values_list("external_reference", flat=True))
        events = Event.unscoped.order_by("transaction", "id").values_list("id", flat=True)
        all_events = [str(id) for id in events]
        created = Event.unscoped.filter(type="appointment.created").count()

    assert bookings.status_codes() <= {200, 201, 503}
    assert [response for response in bookings.refused() if "retry-after" not in response.headers] == []
    assert stored == Counter(f"stream-{number}" for number in bookings.accepted)
    assert created == len(bookings.accepted)
    assert reader.events == all_events
    measurements["failovers"] = (
        f"{FAILOVERS} of them, {len(bookings.accepted)} bookings, {len(bookings.refused())} got 503 and were repeated, "
        f"0 lost; the longest request took {max(bookings.durations()):.1f} s"
    )
