"""The terminal that started the run: it gets the output and sends Ctrl-C, SIGTERM or SIGHUP."""

import os
import signal
import sys
import time
from collections.abc import Callable


class ShutdownRequested(Exception):
    """Someone has asked the run to stop."""


class Terminal:
    """Prints lines and the time that each phase took, and records requests to stop."""

    def __init__(self) -> None:
        self.shutdown_requested_at: float | None = None
        self.kill_functions: list[Callable[[], None]] = []
        self.started_at = self.phase_started_at = time.monotonic()
        self.phases: list[str] = []
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Under nohup SIGHUP is ignored, and must stay so: the run then continues when the terminal is closed.
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self.on_signal)

    def on_signal(self, number: int, _frame: object) -> None:
        """Record the first request to stop; kill everything at a second Ctrl-C."""
        now = time.monotonic()
        if self.shutdown_requested_at is None:
            self.shutdown_requested_at = now
        # A single Ctrl-C may arrive twice: from the terminal, and passed on by make.
        elif number == signal.SIGINT and now - self.shutdown_requested_at > 0.5:
            for kill in self.kill_functions:
                kill()
            os._exit(1)

    def print_line(self, line: str) -> None:
        """Print a line; shut down if the terminal is gone."""
        try:
            # One write, because several threads print.
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        except OSError:
            # The output is a closed pipe. Redirect it, because the shutdown prints, too.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self.shutdown_requested_at = time.monotonic()

    def end_phase(self, name: str) -> None:
        now = time.monotonic()
        self.phases.append(f"{name} {now - self.phase_started_at:.1f}")
        self.phase_started_at = now

    def print_phases(self) -> None:
        self.print_line(f"Started in {self.phase_started_at - self.started_at:.1f} s: {', '.join(self.phases)}")

    def check_shutdown(self) -> None:
        """Raise ShutdownRequested if someone has asked for it."""
        if self.shutdown_requested_at is not None:
            self.print_line("Stopping. Press Ctrl-C again to kill everything.")
            raise ShutdownRequested
