"""A run as a person would start it, and what it started."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from pipeline_backend.local import processes

STANDIN = Path(__file__).with_name("standin.py")
PARTS = {"web": "serves", "beat": "works", "worker": "works"}


class Run:
    """One `make run` with stand-ins for its parts."""

    def __init__(self, root: Path, port: int, parts: dict[str, str], environment: dict[str, str]) -> None:
        self.log_file = root / f"{time.monotonic_ns()}.log"
        words = [sys.executable, str(STANDIN), str(root), json.dumps(parts)]
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                words, stdout=log, stderr=log, env={**environment, "PORT": str(port)}, start_new_session=True
            )
        self.family: dict[int, str | None] = {}

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def is_up(self) -> "Run":
        assert eventually(lambda: "Ctrl-C stops everything" in self.log or self.process.poll() is not None), self.log
        assert self.process.poll() is None, self.log
        self.family = {pid: processes.started(pid) for pid in descendants(self.process.pid)}
        assert len(self.family) >= 3
        return self

    def send(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(20)

    def code(self) -> int:
        return self.process.wait(20)

    def survivors(self) -> list[str]:
        """Of the processes seen by `is_up`, those that still run."""
        return [processes.command_line(pid) for pid, born in self.family.items() if processes.started(pid) == born]


def descendants(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


def eventually(is_so: Callable[[], bool], seconds: float = 20) -> bool:
    return processes.wait_until(is_so, seconds)
