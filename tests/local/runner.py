"""Starts `make run` as a process, and keeps track of the processes that it has started."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from dev.local import processes

STUB_RUN = Path(__file__).with_name("stub_run.py")
# Name of each process, and which of the behaviors in stub_run.py it has.
STUBS = {"web": "serves", "worker": "works"}


class Run:
    """One `make run` with stubs instead of web and worker."""

    def __init__(self, root: Path, port: int, stubs: dict[str, str], environment: dict[str, str]) -> None:
        self.port = port
        self.log_file = root / f"{time.monotonic_ns()}.log"
        command = [sys.executable, str(STUB_RUN), str(root), json.dumps(stubs)]
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, env={**environment, "PORT": str(port)}, start_new_session=True
            )
        self.descendants: list[psutil.Process] = []

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def wait_until_up(self) -> "Run":
        """Wait for the banner, and remember the processes that run by then."""
        assert eventually(lambda: "Ctrl-C stops everything" in self.log or self.process.poll() is not None), self.log
        assert self.process.poll() is None, self.log
        self.descendants = descendants(self.process.pid)
        assert len(self.descendants) >= len(STUBS)
        return self

    def send(self, number: signal.Signals) -> int:
        """Send a signal, wait for the end, and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)

    def exit_code(self) -> int:
        """Wait for the end, and return the exit code."""
        return self.process.wait(60)

    def survivors(self) -> list[str]:
        """Return the command lines of those processes that still run."""
        return [str(process) for process in self.descendants if processes.is_alive(process)]

    def pids(self) -> dict[str, int]:
        """Return the pids of the stubs that run now, by name."""
        pids = {}
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.Error, ValueError):  # it may have just ended
                _, *options, name = child.cmdline()
                pids.update({name: child.pid} if options[:1] == ["-c"] and name in STUBS else {})
        return pids


def descendants(pid: int) -> list[psutil.Process]:
    """Return a process's children, grandchildren and so on."""
    return psutil.Process(pid).children(recursive=True)


def eventually(condition: Callable[[], bool], seconds: float = 60) -> bool:
    """Return whether the condition becomes true within that time."""
    return processes.wait_until(condition, seconds)
