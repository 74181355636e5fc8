"""`make test`: runs a command with a PostgreSQL and a Redis of its own, which are removed when it ends."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path

from dev.local import environment, files, processes
from dev.local.template import DATABASE, migrated_cluster

PREFIX = "pipeline-backend-test-"
# Variables that tell pytest where its servers are, which of the two were started (and not given by a URL), and the name
# of a migrated database that tests may copy.
DIRECTORY, STARTED, TEMPLATE = "TEST_SERVERS_FOLDER", "TEST_SERVERS_STARTED", "TEST_DATABASE_TEMPLATE"


def run(command: Sequence[str], *, migrated: Path | None = None) -> int:
    """Run the command with the servers' URLs in its environment, and return its exit code.

    If `migrated` is a checkout, PostgreSQL starts with a database to which its migrations have been applied.
    """
    children: list[subprocess.Popen[bytes]] = []

    def on_signal(number: int, _frame: object) -> None:
        if not children:
            sys.exit(128 + number)
        # The terminal itself has already sent Ctrl-C to the command.
        if number != signal.SIGINT or not has_terminal():
            children[0].send_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    with ExitStack() as stack:
        environment.check_external_servers()
        remove_leftovers()
        directory = Path(tempfile.mkdtemp(prefix=PREFIX))
        stack.callback(remove, directory)
        # Renamed only once it is locked: otherwise `remove_leftovers` of another run could lock it first.
        files.lock(directory / "lock.new")
        (directory / "lock.new").rename(directory / "lock")
        variables = environment.for_tests() | start_servers(directory, stack, migrated, os.environ)
        if migrated is not None:
            started = [name for name in environment.SERVERS if not os.environ.get(name)]
            variables |= {DIRECTORY: str(directory), STARTED: " ".join(started)}
            variables |= {TEMPLATE: DATABASE} if "DATABASE_URL" in started else {}
        # The command shares our terminal, so that a debugger works in it.
        children.append(processes.start(command, start_new_session=False, env=variables))
        code = children[0].wait()
    return 128 - code if code < 0 else code  # as a shell does it


def start_servers(
    directory: Path, stack: ExitStack, migrated: Path | None, environ: Mapping[str, str]
) -> dict[str, str]:
    """Start the servers whose URL isn't in `environ`, and return the URLs of both."""
    # Other runs don't remove the cluster while it is copied.
    template = migrated_cluster(migrated) if migrated and not environ.get("DATABASE_URL") else nullcontext()
    with template as cluster:
        return environment.start_servers(directory, ephemeral=True, stack=stack, template=cluster, environ=environ)[0]


def start_more(name: str, migrated: Path, stack: ExitStack) -> dict[str, str]:
    """Start another set of the servers that `run` has started, for a further pytest process. Return the URLs."""
    started = os.environ[STARTED].split()
    environ = {variable: os.environ[variable] for variable in environment.SERVERS if variable not in started}
    return start_servers(Path(os.environ[DIRECTORY]) / name, stack, migrated, environ)


def has_terminal() -> bool:
    """Return whether the terminal sends Ctrl-C to our process group, and so to the command, too."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False


def remove_leftovers() -> None:
    for lock in Path(tempfile.gettempdir()).glob(f"{PREFIX}*/lock"):
        directory = lock.parent
        # Other users can create files in the temporary directory, too.
        if not directory.is_symlink() and directory.stat().st_uid == os.geteuid():
            descriptor = files.lock(lock)
            if descriptor is not None:  # otherwise the run is still alive
                remove(directory)
                os.close(descriptor)


def remove(directory: Path) -> None:
    """Stop the servers of a run, also those of `start_more`, and delete everything."""
    for name, kind in environment.SERVERS.values():
        for path in (directory / name, *directory.glob(f"*/{name}")):
            kind(path, ephemeral=True).remove()
    shutil.rmtree(directory, ignore_errors=True)
