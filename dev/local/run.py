"""`make run`: the whole application on this computer, from the first check to the last process stopped."""

import os
import shutil
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from dev.local import MIGRATED, StartupError, banner, environment, files, processes, template
from dev.local.process_group import EXITS_SECONDS, MAX_EXITS, ProcessGroup, stop_leftovers
from dev.local.server import Server
from dev.local.terminal import ShutdownRequested, Terminal

START_TIMEOUT = 60  # seconds until the web server's first response
EVERYTHING_STOPPED = "everything was stopped"
# The command that prepares the database, which ends, then the others in the order in which they are stopped.
Commands = Mapping[str, Sequence[str]]


def application_commands(port: int, data: Path) -> Commands:
    """Return the commands of the real application; tests use stubs instead."""
    # At its level "info" granian says when it replaces one of its processes.
    web = f"pipeline_backend.web --port {port} --workers-kill-timeout 10 --log-level info"
    return {
        # Prints MIGRATED between its two parts. One process, because another would need a second to import everything.
        "prepare": [sys.executable, "manage.py", "demo", "--migrate", "--facts", str(data / "demo.json")],
        # Web first, so that no request is accepted any more; the worker last, so that it gets all jobs.
        "web": [sys.executable, "-m", *web.split()],
        "worker": [sys.executable, "-m", "pipeline_backend.worker", "-n", "local@%h"],
    }


def run(root: Path, commands: Callable[[int, Path], Commands] = application_commands) -> int:
    """Run everything until Ctrl-C (return 0) or until something fails (return 1). Leave no process behind."""
    terminal = Terminal()
    try:
        with ExitStack() as stack:
            run_application(root, commands, terminal, stack)
    except ShutdownRequested:
        terminal.print_line("Everything was stopped.")
        return 0
    except StartupError as error:
        print(error, file=sys.stderr, flush=True)
    return 1


def run_application(
    root: Path, commands: Callable[[int, Path], Commands], terminal: Terminal, stack: ExitStack
) -> None:
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
    environment.publish(variables | addresses, data, stack)
    group = ProcessGroup(root, {**variables, **addresses}, terminal.print_line, data)
    # The servers last, because the other processes use them.
    terminal.kill_functions = [group.kill_all, *(partial(server.stop, first_step=1) for server in servers)]
    stack.callback(group.stop_all)
    for name, command in commands(port, data).items():
        if name == "prepare":
            prepare_database(command, data, group, terminal)
            continue
        if name == "worker":
            wait_for_web(port, group, terminal)  # the local inbox, to which the worker delivers
        group.start(name, command)
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
    try:
        socket.create_server(("127.0.0.1", port)).close()
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
    processes.wait_until(lambda: child.has_exited() or terminal.shutdown_requested_at is not None)
    group.stop_all()
    terminal.check_shutdown()
    terminal.end_phase("demo")
    if child.process.returncode:
        terminal.print_line("\n".join(output))
        failed = "demo" if MIGRATED in output else "migrate"
        raise StartupError(f"{failed} {child.exit_reason()}; {EVERYTHING_STOPPED}")


def wait_for_web(port: int, group: ProcessGroup, terminal: Terminal) -> None:
    """Wait until the web server answers. Raises StartupError if it doesn't, or if a process exits."""

    def is_decided() -> bool:
        return bool(terminal.shutdown_requested_at or group.first_exited() or is_ready(port))

    if not processes.wait_until(is_decided, START_TIMEOUT):
        raise StartupError(f"The web server did not answer within {START_TIMEOUT} seconds; {EVERYTHING_STOPPED}")
    # Not restarted: what fails at the start would fail again.
    if child := group.first_exited():
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
    while True:
        terminal.check_shutdown()
        for server in servers:
            if server.has_exited():
                raise StartupError(f"{server.name} exited by itself (see {server.log}); {EVERYTHING_STOPPED}")
        if child := group.first_exited():
            child.exits.append(time.monotonic())
            reason = f"{child.name} {child.exit_reason()}"
            if len(child.exits) == MAX_EXITS and child.exits[-1] - child.exits[0] <= EXITS_SECONDS:
                raise StartupError(f"{reason}, for the third time in {EXITS_SECONDS} seconds; {EVERYTHING_STOPPED}")
            terminal.print_line(f"{reason}; restarting")
            # First kill what is left of its process group.
            child.stop()
            child.start()
        time.sleep(0.2)


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
