"""The parts of the running application: child processes whose output becomes one log."""

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

MARK = "PIPELINE_LOCAL_RUN"  # in the environment of all that a run starts
PATIENCE = 25  # a worker may finish the task it is at
LEFTOVER_PATIENCE = 10
COLORS = ["36", "33", "35", "32", "34"]
CHUNK = 65536


class ManagedProcess:
    """One child process, the leader of a process group, with what it has said of its current line."""

    def __init__(self, name: str, process: "subprocess.Popen[bytes]", report: Callable[[str], None]) -> None:
        self.name, self.process, self.report = name, process, report
        self.began = processes.started(process.pid)
        self.unfinished = b""

    def hear(self, chunk: bytes) -> None:
        *lines, self.unfinished = (self.unfinished + chunk).split(b"\n")
        for line in lines:
            self.report(line.decode(errors="replace"))

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def is_gone(self) -> bool:
        """Whether the process and all that it started have ended."""
        return self.has_ended() and not processes.has_group(self.process.pid)

    def ending(self) -> str:
        code = self.process.returncode
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"stopped with exit code {code}"


class ProcessGroup:
    """Starts parts, passes their output on, and ends them with everything that they have started."""

    def __init__(self, root: Path, environment: Mapping[str, str], say: Callable[[str], None], record: Path) -> None:
        self.root, self.say, self.record = root, say, record
        self.mark = secrets.token_hex(8)
        self.environment = {**environment, MARK: self.mark}
        self.running: list[ManagedProcess] = []
        self.pipes = selectors.DefaultSelector()
        self.is_colored = sys.stdout.isatty() and "NO_COLOR" not in os.environ

    def start(self, name: str, command: Sequence[str], report: Callable[[str], None] | None = None) -> ManagedProcess:
        """Start a part; its lines go to `report`, or to the log with the part's name before them."""
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        process = processes.start(command, cwd=self.root, env=self.environment, **streams)
        part = ManagedProcess(name, process, report or self.labelled(name))
        self.running.append(part)
        self.note()
        self.pipes.register(cast(IO[bytes], process.stdout), selectors.EVENT_READ, part)
        return part

    def note(self) -> None:
        """Write down who is running, for `end_leftovers` of the next run."""
        noted = [[part.name, part.process.pid, part.began] for part in self.running]
        files.write_private(self.record, json.dumps({"mark": self.mark, "parts": noted}))

    def labelled(self, name: str) -> Callable[[str], None]:
        label = f"{name:<7} |"
        if self.is_colored:
            label = f"\033[{COLORS[len(self.running) % len(COLORS)]}m{label}\033[0m"
        return lambda line: self.say(f"{label} {line}")

    def listen(self, seconds: float) -> None:
        """Pass on what the parts say, for this long."""
        deadline = time.monotonic() + seconds
        while (rest := deadline - time.monotonic()) > 0:
            if not self.pipes.get_map():
                time.sleep(rest)
                return
            for key, _events in self.pipes.select(rest):
                self.read(key)

    def read(self, key: selectors.SelectorKey) -> None:
        chunk = os.read(key.fd, CHUNK)
        part: ManagedProcess = key.data
        part.hear(chunk or (b"\n" if part.unfinished else b""))
        if not chunk:
            self.pipes.unregister(key.fileobj)

    def listen_until(self, is_so: Callable[[], bool], seconds: float = math.inf) -> bool:
        """Pass on what the parts say until it comes true; whether it did in that time."""
        deadline = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > deadline:
                return False
            self.listen(0.05)
        return True

    def ended(self) -> ManagedProcess | None:
        """A part that has ended by itself."""
        return next((part for part in self.running if part.has_ended()), None)

    def stop(self) -> None:
        """End the parts one after the other, in the order in which they were started."""
        while self.running:
            self.end(self.running[0])

    def end(self, part: ManagedProcess) -> None:
        """End a part at the latest after its patience, then whatever is left of what it started."""
        part.process.send_signal(signal.SIGTERM)
        self.listen_until(part.has_ended, PATIENCE)
        if not part.is_gone():
            processes.send(os.killpg, part.process.pid, signal.SIGKILL)
            self.listen_until(part.is_gone, 5)
        self.listen(0.01)  # its last words
        self.running.remove(part)
        self.note()

    def kill(self) -> None:
        for part in self.running:
            processes.send(os.killpg, part.process.pid, signal.SIGKILL)


def end_leftovers(record: Path) -> None:
    """End the parts of an earlier run that was killed, and only those: a pid may be somebody else's by now."""
    noted = json.loads(files.kept(record) or '{"parts": []}')
    for _name, pid, began in noted["parts"]:
        if began and processes.started(pid) == began:
            processes.end(pid, (signal.SIGTERM, LEFTOVER_PATIENCE), (signal.SIGKILL, 5))
    for pid in processes.marked(f"{MARK}={noted.get('mark')}"):
        processes.end(pid, (signal.SIGTERM, 2), (signal.SIGKILL, 5))
    record.unlink(missing_ok=True)
