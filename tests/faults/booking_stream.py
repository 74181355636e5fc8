"""A stream of bookings, as an integrator sends them: what is not accepted is sent again."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Response, Stack, wait_for
from webhooks.models import Event

PAUSE_SECONDS = 0.05
MAX_SECONDS = 120  # a web server that is started on a busy machine takes long, and is not there until then


@dataclass
class BookingStream:
    """Every response with the seconds it took, and the numbers of the bookings that were accepted."""

    responses: list[tuple[Response, float]] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)

    def status_codes(self) -> set[int]:
        """Return the status codes that occurred."""
        return {response.status for response, _ in self.responses}

    def refused(self) -> list[Response]:
        """Return the responses that asked to repeat the booking."""
        return [response for response, _ in self.responses if response.status == 503]

    def durations(self) -> list[float]:
        """Return the seconds that each response took."""
        return [seconds for _, seconds in self.responses]

    def wait_for_more(self, count: int) -> None:
        """Wait until `count` more bookings are accepted."""
        target = len(self.accepted) + count
        wait_for(lambda: len(self.accepted) >= target)


@contextmanager
def booking_stream(stack: Stack, key: str, *, threads: int = 1) -> Iterator[BookingStream]:
    """Send bookings one after another, in each thread, until the end of the block."""
    bookings = BookingStream()
    is_stopped = threading.Event()
    numbers = itertools.count()

    def send_until_stopped() -> None:
        while not is_stopped.wait(PAUSE_SECONDS):
            send_until_accepted(next(numbers))

    def send_until_accepted(number: int) -> None:
        end = time.monotonic() + MAX_SECONDS
        while (started := time.monotonic()) < end:
            response = stack.send_booking(key, external_reference=f"stream-{number}")
            bookings.responses.append((response, time.monotonic() - started))
            if response.status in {200, 201}:
                bookings.accepted.append(number)
                return
            time.sleep(PAUSE_SECONDS)

    senders = [threading.Thread(target=send_until_stopped) for _ in range(threads)]
    for sender in senders:
        sender.start()
    try:
        yield bookings
    finally:
        is_stopped.set()
        for sender in senders:
            sender.join(MAX_SECONDS)


def all_events_received(inbox: FastReceiver) -> Callable[[], bool]:
    """Return a condition to wait for: every event in the database has reached the receiver."""
    return lambda: inbox.counts().keys() == {str(id) for id in Event.unscoped.values_list("id", flat=True)}
