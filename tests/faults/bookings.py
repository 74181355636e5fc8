"""Bookings that never stop coming, as an integrator sends them: what is not taken is sent again."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.faults.fast_receiver import FastReceiver
from tests.faults.stack import Answer, Stack, wait_for
from webhooks.models import Event

PAUSE_SECONDS, TRIES = 0.05, 200


@dataclass
class Bookings:
    """Every answer, with the seconds it took, and the numbers of the bookings that were taken."""

    answers: list[tuple[Answer, float]] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)

    def codes(self) -> set[int]:
        """The statuses seen."""
        return {answer.code for answer, _ in self.answers}

    def seconds(self) -> list[float]:
        """How long each took."""
        return [seconds for _, seconds in self.answers]

    def wait_for_more(self, count: int) -> None:
        """Let so many more be taken."""
        wanted = len(self.taken) + count
        wait_for(lambda: len(self.taken) >= wanted, seconds=40)


@contextmanager
def stream(stack: Stack, key: str, *, threads: int = 1) -> Iterator[Bookings]:
    """Bookings one after another, in threads, until the end of the block."""
    bookings = Bookings()
    is_over = threading.Event()
    numbers = itertools.count()

    def send() -> None:
        while not is_over.wait(PAUSE_SECONDS):
            take(next(numbers))

    def take(number: int) -> None:
        for _ in range(TRIES):
            started = time.monotonic()
            answer = stack.try_to_book(key, external_reference=f"stream-{number}")
            bookings.answers.append((answer, time.monotonic() - started))
            if answer.code in {200, 201}:
                return bookings.taken.append(number)
            time.sleep(PAUSE_SECONDS)
        return None

    senders = [threading.Thread(target=send) for _ in range(threads)]
    for sender in senders:
        sender.start()
    try:
        yield bookings
    finally:
        is_over.set()
        for sender in senders:
            sender.join(60)


def has_all(inbox: FastReceiver) -> Callable[[], bool]:
    """Whether every event there is has arrived, as a question to wait for."""
    return lambda: inbox.times().keys() == {str(id) for id in Event.unscoped.values_list("id", flat=True)}
