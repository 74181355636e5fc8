"""The processes of the running application: children of this one, with one log for all."""

import json
import math
import os
import secrets
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

from pipeline_backend.local import files, processes

# An environment variable that everything started by a run inherits, so that processes of a killed run can be found.
MARK = "PIPELINE_LOCAL_RUN"
STOP_TIMEOUT = 25  # seconds; a worker may finish its current task
LEFTOVER_STOP_TIMEOUT = 10
COLORS = ["36", "33", "35", "32", "34"]
CHUNK_SIZE = 65536


class ManagedProcess:
    """A child process that leads a process group of its own."""

    def __init__(
        self, name: str, command: Sequence[str], process: "subprocess.Popen[bytes]", on_line: Callable[[str], None]
    ) -> None:
        self.name, self.command, self.process, self.on_line = name, command, process, on_line
        self.started_at = processes.start_time(process.pid)
        self.partial_line = b""

    def feed(self, chunk: bytes) -> None:
        """Pass complete lines of the output on; keep the rest for the next call."""
        *lines, self.partial_line = (self.partial_line + chunk).split(b"\n")
        for line in lines:
            self.on_line(line.decode(errors="replace"))

    def has_exited(self) -> bool:
        return self.process.poll() is not None

    def is_gone(self) -> bool:
        """Return whether the process and everything that it started have exited."""
        return self.has_exited() and not processes.group_exists(self.process.pid)

    def exit_reason(self) -> str:
        """Return how the process exited, for a sentence that begins with its name."""
        code = self.process.returncode
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"stopped with exit code {code}"


class ProcessGroup:
    """Starts processes, prints their output, and stops them with everything that they have started."""

    def __init__(
        self, root: Path, environment: Mapping[str, str], print_line: Callable[[str], None], state_file: Path
    ) -> None:
        self.root, self.print_line, self.state_file = root, print_line, state_file
        self.mark = secrets.token_hex(8)
        self.environment = {**environment, MARK: self.mark}
        self.running: list[ManagedProcess] = []
        self.pipes = selectors.DefaultSelector()
        self.is_colored = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def start(
        self,
        name: str,
        command: Sequence[str],
        on_line: Callable[[str], None] | None = None,
        position: int | None = None,
    ) -> ManagedProcess:
        """Start a process, by default as the last one. Its lines go to `on_line`, or are printed after its name."""
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        process = processes.start(command, cwd=self.root, env=self.environment, **streams)
        child = ManagedProcess(name, command, process, on_line or self._line_printer(name))
        self.running.insert(len(self.running) if position is None else position, child)
        self._save_state()
        self.pipes.register(cast(IO[bytes], process.stdout), selectors.EVENT_READ, child)
        return child

    def restart(self, child: ManagedProcess) -> None:
        """Kill what is left of an exited process's group, and start its command again, in its place in the order."""
        position = self.running.index(child)
        self.stop(child)
        self.start(child.name, child.command, child.on_line, position)

    def _save_state(self) -> None:
        # Read by `stop_leftovers` of the next run, if this one is killed.
        running = [[child.name, child.process.pid, child.started_at] for child in self.running]
        files.write_private(self.state_file, json.dumps({"mark": self.mark, "processes": running}))

    def _line_printer(self, name: str) -> Callable[[str], None]:
        label = f"{name:<7} |"
        if self.is_colored:
            label = f"\033[{COLORS[len(self.running) % len(COLORS)]}m{label}\033[0m"
        return lambda line: self.print_line(f"{label} {line}")

    def read_output(self, seconds: float) -> None:
        """Read and pass on the output of all processes for this long."""
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0:
            # Without pipes `select` would return at once, in a busy loop.
            if not self.pipes.get_map():
                time.sleep(remaining)
                return
            for key, _events in self.pipes.select(remaining):
                self._read(key)

    def _read(self, key: selectors.SelectorKey) -> None:
        chunk = os.read(key.fd, CHUNK_SIZE)
        child: ManagedProcess = key.data
        # At the end of the output, a last line may lack its newline.
        child.feed(chunk or (b"\n" if child.partial_line else b""))
        if not chunk:
            self.pipes.unregister(key.fileobj)

    def read_output_until(self, condition: Callable[[], bool], timeout: float = math.inf) -> bool:
        """Read output until the condition is true. Return False if it isn't after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.read_output(0.05)
        return True

    def first_exited(self) -> ManagedProcess | None:
        """Return a process that has exited by itself, or None."""
        return next((child for child in self.running if child.has_exited()), None)

    def stop_all(self) -> None:
        """Stop the processes one after the other, in the order in which they were started."""
        while self.running:
            self.stop(self.running[0])

    def stop(self, child: ManagedProcess) -> None:
        """Terminate a process, kill it if that takes too long, then kill what is left of its group."""
        child.process.send_signal(signal.SIGTERM)
        self.read_output_until(child.has_exited, STOP_TIMEOUT)
        if not child.is_gone():
            processes.send_signal(os.killpg, child.process.pid, signal.SIGKILL)
            self.read_output_until(child.is_gone, 5)
        self.read_output(0.01)  # what it wrote last may still be in the pipe
        self.running.remove(child)
        self._save_state()

    def kill_all(self) -> None:
        for child in self.running:
            processes.send_signal(os.killpg, child.process.pid, signal.SIGKILL)


def stop_leftovers(state_file: Path) -> None:
    """Stop the processes of an earlier run that was killed."""
    state = json.loads(files.read_if_exists(state_file) or "{}")
    for _name, pid, started_at in state.get("processes", []):
        # The system may have given the pid to another process since; only the same start time identifies ours.
        if started_at and processes.start_time(pid) == started_at:
            processes.stop(pid, (signal.SIGTERM, LEFTOVER_STOP_TIMEOUT), (signal.SIGKILL, 5))
    for pid in processes.find_by_environment(f"{MARK}={state.get('mark')}"):
        processes.stop(pid, (signal.SIGTERM, 2), (signal.SIGKILL, 5))
    state_file.unlink(missing_ok=True)
