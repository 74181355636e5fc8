"""Measures for how long a call keeps the interpreter from all other threads, as a single call into C can."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

TICK = 0.001  # seconds
Result = TypeVar("Result")


class HeldInterpreter:
    """A thread that ticks, and the longest time between two of its ticks."""

    def __init__(self) -> None:
        self.longest = 0.0
        self.ticks = 0
        self.is_running = True

    def tick(self) -> None:
        """Tick until `is_running` is False."""
        last = time.process_time()
        while self.is_running:
            time.sleep(TICK)
            # Processor time of this process: other processes of a busy machine don't add to it.
            now = time.process_time()
            self.longest, last = max(self.longest, now - last), now
            self.ticks += 1

    def measure(self, call: Callable[[], Result]) -> tuple[Result, float]:
        """Call the function; return its result, and for how many seconds no other thread could run."""
        self.longest = 0.0
        result = call()
        ticks = self.ticks
        while self.ticks < ticks + 2:  # the next one may have been under way; the second ends the last interval
            time.sleep(TICK)
        return result, self.longest


@contextmanager
def held_interpreter() -> Iterator[HeldInterpreter]:
    """Run the thread while the block runs."""
    held = HeldInterpreter()
    thread = threading.Thread(target=held.tick, daemon=True)
    thread.start()
    try:
        yield held
    finally:
        held.is_running = False
        thread.join()
