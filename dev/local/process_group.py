"""The processes of the running application: children of this one, with one log for all."""

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import psutil

from dev.local import processes

# Everything that a run starts inherits this variable with its data's directory, by which the next run finds leftovers.
MARK = "PIPELINE_LOCAL_RUN"
STOP_TIMEOUT = 25  # seconds; a worker may finish its current task
MAX_EXITS = 3  # a process that exits this often within EXITS_SECONDS is not restarted: it would exit again
EXITS_SECONDS = 30
COLORS = ["36", "33", "35", "32", "34"]


class ManagedProcess:
    """A child process that leads a process group of its own. Its output goes to `on_line`, line by line."""

    def __init__(
        self, name: str, command: Sequence[str], options: Mapping[str, Any], on_line: Callable[[str], None]
    ) -> None:
        self.name, self.command, self.options, self.on_line = name, command, options, on_line
        self.exits: deque[float] = deque(maxlen=MAX_EXITS)  # the times of the latest ones
        self.start()

    def start(self) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.process = processes.start(self.command, **pipes, **self.options)
        # A thread reads the output, so that the process never waits for us.
        self.reader = Thread(target=self._read_output, args=[self.process.stdout], daemon=True)
        self.reader.start()

    def _read_output(self, output: Iterable[bytes]) -> None:
        for line in output:
            self.on_line(line.decode(errors="replace").removesuffix("\n"))

    def has_exited(self) -> bool:
        return self.process.poll() is not None

    def exit_reason(self) -> str:
        """Return how the process exited, for a sentence that begins with its name."""
        code = self.process.returncode
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"stopped with exit code {code}"

    def stop(self) -> None:
        """Terminate the process, kill it if that takes too long, then kill what is left of its group."""
        self.process.send_signal(signal.SIGTERM)
        processes.wait_until(self.has_exited, STOP_TIMEOUT)
        if self.group():
            self.kill()
            processes.wait_until(lambda: not self.group(), 5)
        self.process.wait()
        self.reader.join(5)  # until it has read what the group wrote last

    def group(self) -> list[psutil.Process]:
        return processes.find(lambda process: os.getpgid(process.pid) == self.process.pid)

    def kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):  # PermissionError: macOS, for a group of zombies
            os.killpg(self.process.pid, signal.SIGKILL)


class ProcessGroup:
    """Starts processes, prints their output, and stops them with everything that they have started."""

    def __init__(
        self, root: Path, environment: Mapping[str, str], print_line: Callable[[str], None], data: Path
    ) -> None:
        self.options = {"cwd": root, "env": {**environment, MARK: str(data)}}
        self.print_line = print_line
        self.running: list[ManagedProcess] = []
        self.is_colored = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def start(self, name: str, command: Sequence[str], on_line: Callable[[str], None] | None = None) -> ManagedProcess:
        """Start a process, as the last one. Its lines go to `on_line`, or are printed with its name in front."""
        label = f"{name:<7} |"
        if self.is_colored:
            label = f"\033[{COLORS[len(self.running) % len(COLORS)]}m{label}\033[0m"
        on_line = on_line or (lambda line: self.print_line(f"{label} {line}"))
        self.running.append(ManagedProcess(name, command, self.options, on_line))
        return self.running[-1]

    def first_exited(self) -> ManagedProcess | None:
        return next((child for child in self.running if child.has_exited()), None)

    def stop_all(self) -> None:
        while self.running:
            self.running[0].stop()
            del self.running[0]

    def kill_all(self) -> None:
        for child in self.running:
            child.kill()


def stop_leftovers(data: Path) -> None:
    leftovers = processes.find(lambda process: process.environ().get(MARK) == str(data) and process.pid != os.getpid())
    processes.stop(leftovers, (signal.SIGTERM, STOP_TIMEOUT), (signal.SIGKILL, 5))
