"""Processes: start them so that they die with this one, find those of an earlier run, and stop them."""

import ctypes
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
PR_SET_PDEATHSIG = 1


def start(
    command: Sequence[str | Path], *, parent_death_signal: signal.Signals = signal.SIGTERM, **options: Any
) -> "subprocess.Popen[bytes]":
    """Start a command.

    On Linux it gets `parent_death_signal` when this process dies, however that happens. `options` are those of Popen.
    """
    # In its own session by default: Ctrl-C then reaches only this process, which stops the others in order.
    options = {"start_new_session": True, **options}
    return subprocess.Popen(list(map(str, command)), preexec_fn=_set_death_signal(parent_death_signal), **options)


def _set_death_signal(number: signal.Signals) -> Callable[[], None] | None:
    """Return a function that the new process calls to get the signal; None if the system has none."""
    if LIBC is None:
        return None
    parent, prctl = os.getpid(), LIBC.prctl

    def set_death_signal() -> None:
        prctl(PR_SET_PDEATHSIG, number)
        # If the parent died before the line above, the signal will never come.
        if os.getppid() != parent:
            os._exit(1)

    return set_death_signal


def is_alive(process: psutil.Process) -> bool:
    """Return whether the process is running. Zombies are not: some containers have no process that reaps them."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def find(condition: Callable[[psutil.Process], bool]) -> list[psutil.Process]:
    """Return the running processes for which this is true, without those that we have no access to."""
    matching = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if condition(process) and is_alive(process):
                matching.append(process)
    return matching


def stop(running: list[psutil.Process], *steps: tuple[signal.Signals, float]) -> None:
    """Send signals to processes that aren't our children: each with the seconds to wait until all are gone."""
    for number, timeout in steps:
        for process in running:
            with suppress(psutil.Error):
                process.send_signal(number)
        if wait_until(lambda: not any(map(is_alive, running)), timeout):
            return


def wait_until(condition: Callable[[], bool], seconds: float = math.inf) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
