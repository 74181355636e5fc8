"""`make test`: a command with a PostgreSQL and a Redis of its own, which are gone when it ends."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from pipeline_backend.local import environment, files, processes
from pipeline_backend.local.template import DATABASE, template

PREFIX = "pipeline-backend-test-"
# What `make test` tells pytest: where its servers are kept, which of the two were started and not given, and the
# migrated database of which the tests' database is a copy.
FOLDER, STARTED, TEMPLATE = "TEST_SERVERS_FOLDER", "TEST_SERVERS_STARTED", "TEST_DATABASE_TEMPLATE"


def run(command: Sequence[str], *, migrated: Path | None = None) -> int:
    """Run the command with the servers' addresses in its environment; its exit code is ours.

    With `migrated`, a checkout, PostgreSQL starts with a database to which its migrations have been applied.
    """
    child = Child()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, child.pass_on)
    with ExitStack() as stack:
        environment.check_given_servers()
        sweep()
        folder = make_folder(stack)
        stack.callback(remove_servers, folder)  # also those that the command has started for its own processes
        variables = environment.for_tests()
        variables |= start_servers(folder, stack, migrated, os.environ)
        if migrated is not None:
            started = [name for name in environment.SERVERS if not os.environ.get(name)]
            variables |= {FOLDER: str(folder), STARTED: " ".join(started)}
            variables |= {TEMPLATE: DATABASE} if "DATABASE_URL" in started else {}
        return child.run(command, variables)


def start_servers(folder: Path, stack: ExitStack, migrated: Path | None, given: Mapping[str, str]) -> dict[str, str]:
    """The addresses of the servers, of which those that aren't given are started."""
    with ExitStack() as copying:
        cluster = copying.enter_context(template(migrated)) if migrated and not given.get("DATABASE_URL") else None
        return environment.start_servers(folder, throwaway=True, stack=stack, template=cluster, given=given)[0]


def start_more(name: str, migrated: Path, stack: ExitStack) -> dict[str, str]:
    """In pytest under `make test`: the addresses of further servers, of the kinds that were started and not given."""
    started = os.environ[STARTED].split()
    given = {variable: os.environ[variable] for variable in environment.SERVERS if variable not in started}
    return start_servers(Path(os.environ[FOLDER]) / name, stack, migrated, given)


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
        remove_servers(folder)
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def remove_servers(folder: Path) -> None:
    """Stop and remove whatever runs in this folder, or in one inside of it."""
    for name, kind in environment.SERVERS.values():
        for place in (folder / name, *folder.glob(f"*/{name}")):
            kind(place, throwaway=True).remove()
