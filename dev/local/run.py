"""`make run`: the whole application on this computer, from the first check to the last process stopped."""

import itertools
import os
import shutil
import signal
import socket
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple

from dev.local import MIGRATED, StartupError, banner, environment, files, processes, template
from dev.local.embedded import Server
from dev.local.process_group import ManagedProcess, ProcessGroup, stop_leftovers

START_TIMEOUT = 60  # seconds until the web server's first response
EVERYTHING_STOPPED = "everything was stopped"
# A process that exits this often within this time is not restarted again, because it would exit again.
MAX_EXITS = 3
EXITS_SECONDS = 30


class Plan(NamedTuple):
    """The commands of a run: one that ends, then the long-running ones in the order in which they are stopped."""

    prepare: Sequence[str]  # prints MIGRATED between its two parts, migrations and demo data
    processes: dict[str, Sequence[str]]


def application_plan(port: int, data: Path) -> Plan:
    """Return the commands of the real application; tests use stubs instead."""
    celery = "celery --quiet -A pipeline_backend.celery"
    pool = "--pool threads --concurrency 4 -n local@%h --without-gossip --without-mingle"
    modules = {
        # At its level "info" granian says when it replaces one of its processes.
        "web": [f"pipeline_backend.web --port {port} --workers-kill-timeout 10 --log-level info"],
        "beat": [f"{celery} beat --loglevel warning --pidfile= --schedule", str(data / "celerybeat-schedule")],
        "worker": [f"{celery} worker --loglevel info {pool}"],
    }
    return Plan(
        # One process for both, because a new one would need a second to import the application.
        prepare=[sys.executable, "manage.py", "demo", "--migrate", "--facts", str(data / "demo.json")],
        # Web first, so that no request is accepted any more; the worker last, so that it gets all jobs.
        processes={name: [sys.executable, "-m", *text.split(), *path] for name, (text, *path) in modules.items()},
    )


class ShutdownRequested(Exception):
    """Someone has asked the run to stop."""


class Terminal:
    """The terminal that started the run: it gets the output and sends Ctrl-C, SIGTERM or SIGHUP."""

    def __init__(self) -> None:
        self.shutdown_requested_at: float | None = None
        self.kill_functions: list[Callable[[], None]] = []
        self.phases = [("", time.monotonic())]  # the parts of the start that have ended, and when
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
        self.phases.append((name, time.monotonic()))

    def print_phases(self) -> None:
        parts = [f"{name} {end - start:.1f}" for (_, start), (name, end) in itertools.pairwise(self.phases)]
        self.print_line(f"Started in {self.phases[-1][1] - self.phases[0][1]:.1f} s: {', '.join(parts)}")

    def is_shutdown_requested(self) -> bool:
        return self.shutdown_requested_at is not None

    def check_shutdown(self) -> None:
        """Raise ShutdownRequested if someone has asked for it."""
        if self.is_shutdown_requested():
            self.print_line("Stopping. Press Ctrl-C again to kill everything.")
            raise ShutdownRequested


def run(root: Path, plan: Callable[[int, Path], Plan] = application_plan) -> int:
    """Run everything until Ctrl-C (return 0) or until something fails (return 1). Leave no process behind."""
    terminal = Terminal()
    try:
        with ExitStack() as stack:
            run_application(root, plan, terminal, stack)
    except ShutdownRequested:
        terminal.print_line("Everything was stopped.")
        return 0
    except StartupError as error:
        print(error, file=sys.stderr, flush=True)
    return 1


def run_application(root: Path, plan: Callable[[int, Path], Plan], terminal: Terminal, stack: ExitStack) -> None:
    """Check, start and supervise everything. `stack` stops it. Raises ShutdownRequested or StartupError."""
    data = root / ".data"
    data.mkdir(mode=0o700, exist_ok=True)
    data.chmod(0o700)
    port = read_port()
    lock_data(data, stack)
    (data / environment.RUNNING).unlink(missing_ok=True)  # of a killed run
    # Before the port is checked: a leftover web server may still occupy it.
    stop_leftovers(data)
    require_free_port(port)
    environment.check_external_servers()
    variables = environment.for_run(data, port)
    terminal.print_line("Starting PostgreSQL and Redis ...")
    addresses, servers = environment.start_servers(data, ephemeral=False, stack=stack)
    terminal.end_phase("servers")
    terminal.kill_functions += [server.kill for server in servers]
    environment.publish(variables | addresses, data, stack)
    group = ProcessGroup(root, {**variables, **addresses}, terminal.print_line, data)
    terminal.kill_functions.insert(0, group.kill_all)  # before the servers that these processes use
    stack.callback(group.stop_all)
    commands = plan(port, data)
    prepare_database(commands.prepare, data, group, terminal)
    for name, command in commands.processes.items():
        group.start(name, command)
    wait_for_web(port, group, terminal)
    terminal.end_phase("web")
    terminal.print_phases()
    terminal.print_line(banner.render_banner(variables["BASE_URL"], data, servers))
    supervise(group, servers, terminal)


def read_port() -> int:
    """Return the port in PORT, by default 8000. Raises StartupError if it is invalid."""
    text = os.environ.get("PORT") or "8000"
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise StartupError(f"PORT={text} is not a valid port; use a number from 1 to 65535")
    return int(text)


def lock_data(data: Path, stack: ExitStack) -> None:
    """Lock the data directory until this process ends. Raises StartupError if another run holds the lock."""
    lock = files.lock(data / "lock")
    if lock is None:
        process = files.read_if_exists(data / "lock")
        raise StartupError(f"make run is already running as process {process}; stop that first")
    os.truncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    stack.callback(os.close, lock)


def require_free_port(port: int) -> None:
    """Raise StartupError if the port can't be used."""
    other_port = port + 1 if port < 65535 else 8000
    in_use = StartupError(f"Port {port} is already in use; choose another one with PORT={other_port} make run")
    # Binding alone isn't enough: it can succeed next to a server that listens on all addresses.
    with socket.socket() as client:
        if client.connect_ex(("127.0.0.1", port)) == 0:
            raise in_use
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except PermissionError:
            raise StartupError(
                f"Port {port} may only be used by root; choose another one with PORT=8000 make run"
            ) from None
        except OSError:
            raise in_use from None


def prepare_database(command: Sequence[str], data: Path, group: ProcessGroup, terminal: Terminal) -> None:
    """Apply missing migrations, and load the demo data the first time; later, check its API key and password.

    Raises StartupError, after printing the command's output, if that fails.
    """
    terminal.check_shutdown()
    output: list[str] = []

    def on_line(line: str) -> None:
        output.append(line)
        if line == MIGRATED:
            terminal.end_phase("migrate")
            applied = sum("Applying " in line for line in output)
            if applied:
                terminal.print_line(f"Applied {applied} migrations.")
            if not (data / "demo.json").exists():
                terminal.print_line("Loading demo data (only the first time) ...")

    child = group.start("prepare", command, on_line)
    processes.wait_until(lambda: child.has_exited() or terminal.is_shutdown_requested())
    group.stop(child)
    terminal.check_shutdown()
    terminal.end_phase("demo")
    if child.process.returncode:
        terminal.print_line("\n".join(output))
        failed = "demo" if MIGRATED in output else "migrate"
        raise StartupError(f"{failed} {child.exit_reason()}; {EVERYTHING_STOPPED}")


def wait_for_web(port: int, group: ProcessGroup, terminal: Terminal) -> None:
    """Wait until the web server answers. Raises StartupError if it doesn't, or if a process exits."""

    def is_decided() -> bool:
        return bool(terminal.is_shutdown_requested() or group.first_exited() or is_ready(port))

    if not processes.wait_until(is_decided, START_TIMEOUT):
        raise StartupError(f"The web server did not answer within {START_TIMEOUT} seconds; {EVERYTHING_STOPPED}")
    # Not restarted: what fails at the start would fail again.
    child = group.first_exited()
    if child:
        raise StartupError(f"{child.name} {child.exit_reason()}; {EVERYTHING_STOPPED}")
    terminal.check_shutdown()


def is_ready(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def supervise(group: ProcessGroup, servers: list[Server], terminal: Terminal) -> None:
    """Restart processes that exit, until someone asks to stop.

    Raises StartupError if a process exits again and again, or if a server has exited: its clients need it.
    """
    exits: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=MAX_EXITS))
    while True:
        terminal.check_shutdown()
        for server in servers:
            if server.has_exited():
                raise StartupError(f"{server.name} exited by itself (see {server.log}); {EVERYTHING_STOPPED}")
        child = group.first_exited()
        if child:
            restart(child, group, terminal, exits[child.name])
        time.sleep(0.2)


def restart(child: ManagedProcess, group: ProcessGroup, terminal: Terminal, exits: deque[float]) -> None:
    """Restart an exited process. `exits` has its latest exits; raises StartupError if there were too many."""
    exits.append(time.monotonic())
    reason = f"{child.name} {child.exit_reason()}"
    if len(exits) == MAX_EXITS and exits[-1] - exits[0] <= EXITS_SECONDS:
        raise StartupError(f"{reason}, for the third time in {EXITS_SECONDS} seconds; {EVERYTHING_STOPPED}")
    terminal.print_line(f"{reason}; restarting")
    group.restart(child)


def clean(root: Path) -> int:
    """Remove the data of all runs, also where PostgreSQL's data is elsewhere because root has started it."""
    data = root / ".data"
    # Also if it was deleted by hand: root's PostgreSQL data is found by the path of this directory.
    data.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as stack:
        lock_data(data, stack)
        stop_leftovers(data)
        for name, kind in environment.SERVERS.values():
            kind(data / name).remove()
        template.remove_all(root)
        shutil.rmtree(data)
    return 0
