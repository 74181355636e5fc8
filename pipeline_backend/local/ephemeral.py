"""`make test`: a command with a PostgreSQL and a Redis of its own, which are gone when it ends."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from pipeline_backend.local import environment, files, processes

PREFIX = "pipeline-backend-test-"


def run(command: Sequence[str]) -> int:
    """Run the command with the servers' addresses in its environment; its exit code is ours."""
    child = Child()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, child.pass_on)
    with ExitStack() as stack:
        environment.check_given_servers()
        sweep()
        folder = make_folder(stack)
        addresses, _servers = environment.start_servers(folder, throwaway=True, stack=stack)
        return child.run(command, {**environment.for_tests(), **addresses})


class Child:
    """The command: it shares our terminal, so that a debugger works in it, and gets our signals."""

    def __init__(self) -> None:
        self.pid: int | None = None
        self.early: int | None = None

    def run(self, command: Sequence[str], variables: dict[str, str]) -> int:
        if self.early:
            return 128 + self.early
        process = processes.start(command, start_new_session=False, env=variables)
        self.pid = process.pid
        if self.early:
            process.send_signal(self.early)
        code = process.wait()
        self.pid = None  # soon somebody else's
        return 128 - code if code < 0 else code

    def pass_on(self, number: int, _frame: object) -> None:
        """Ctrl-C at the terminal has reached the command already."""
        if self.pid is None:
            self.early = number
        elif number != signal.SIGINT or not has_terminal():
            processes.send(os.kill, self.pid, number)


def has_terminal() -> bool:
    """Whether Ctrl-C at the terminal is sent to our process group, and so to the command as well."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


def make_folder(stack: ExitStack) -> Path:
    """A temporary folder, marked by a lock as in use."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    files.lock(folder / "lock.new")
    # Only now, locked, it is there for `sweep` of another run.
    (folder / "lock.new").rename(folder / "lock")
    return folder


def sweep() -> None:
    """Stop and remove what killed runs have left behind."""
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/lock"):
        folder = lock.parent
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            continue
        held = files.lock(lock)
        if held is None:
            continue
        for name, kind in environment.SERVERS.values():
            kind(folder / name, throwaway=True).remove()
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)
