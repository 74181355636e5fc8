"""`make run`: the whole application on this computer, from the first check to the last process stopped."""

import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from pipeline_backend.local import StartupError, banner, environment, files
from pipeline_backend.local.embedded import Server
from pipeline_backend.local.process_group import ProcessGroup, end_leftovers

PATIENCE = 60  # for the first answer


@dataclass(frozen=True)
class Plan:
    """The commands of a run: two that come first and end, then the parts in the order in which they are stopped."""

    migrate: Sequence[str]
    demo: Sequence[str]
    parts: dict[str, Sequence[str]]


def application(port: int, data: Path) -> Plan:
    python = [sys.executable, "-m"]
    manage = [sys.executable, "manage.py"]
    celery = [*python, "celery", "--quiet", "-A", "pipeline_backend.celery"]
    server = [*python, "granian", "--interface", "rsgi", "--host", "127.0.0.1", "--port", str(port), "--http", "1"]
    sizes = ["--workers", "2", "--workers-kill-timeout", "10"]
    pool = ["--pool", "threads", "--concurrency", "4", "-n", "local@%h", "--without-gossip", "--without-mingle"]
    schedule = ["--schedule", str(data / "celerybeat-schedule"), "--pidfile", ""]
    return Plan(
        migrate=[*manage, "migrate", "--noinput"],
        demo=[*manage, "demo", "--facts", str(data / "demo.json")],
        parts={
            "web": [*server, *sizes, "--no-ws", "--log-level", "warning", "pipeline_backend.web.rsgi:server"],
            "beat": [*celery, "beat", "--loglevel", "warning", *schedule],
            "worker": [*celery, "worker", "--loglevel", "info", *pool],
        },
    )


class Ending(Exception):
    """Somebody asked for the end."""


class Terminal:
    """The person who started us: lines go out; Ctrl-C, SIGTERM and a closed window come in."""

    def __init__(self) -> None:
        self.asked_at: float | None = None
        self.emergencies: list[Callable[[], None]] = []

    def obey(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, self.on_signal)

    def on_signal(self, number: int, _frame: object) -> None:
        """Remember the first request; a later Ctrl-C kills. One request may come twice, from make and from its group."""
        now = time.monotonic()
        if self.asked_at is None:
            self.asked_at = now
        elif number == signal.SIGINT and now - self.asked_at > 0.5:
            for kill in self.emergencies:
                kill()
            os._exit(1)

    def say(self, line: str) -> None:
        try:
            print(line, flush=True)
        except OSError:  # nobody reads on: end in good order
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self.asked_at = time.monotonic()

    def wants_the_end(self) -> bool:
        return self.asked_at is not None

    def check(self) -> None:
        if self.wants_the_end():
            self.say("Stopping; another Ctrl-C kills.")
            raise Ending


def run(root: Path, plan: Callable[[int, Path], Plan] = application) -> int:
    """Run everything until Ctrl-C (0) or until a part ends by itself (1); leave no process behind."""
    terminal = Terminal()
    terminal.obey()
    try:
        with ExitStack() as stack:
            run_until_the_end(root, plan, terminal, stack)
    except Ending:
        terminal.say("Everything was stopped.")
        return 0
    except StartupError as refusal:
        print(refusal, file=sys.stderr, flush=True)
    return 1


def run_until_the_end(root: Path, plan: Callable[[int, Path], Plan], terminal: Terminal, stack: ExitStack) -> None:
    data = root / ".data"
    data.mkdir(mode=0o700, exist_ok=True)
    data.chmod(0o700)
    port = wanted_port()
    lock_data(data, stack)
    end_leftovers(data / "run.json")
    refuse_taken(port)
    environment.check_given_servers()
    variables = environment.for_run(data, port)
    terminal.say("Starting PostgreSQL and Redis ...")
    addresses, servers = environment.start_servers(data, throwaway=False, stack=stack)
    terminal.emergencies += [server.kill for server in servers]
    parts = ProcessGroup(root, {**variables, **addresses}, terminal.say, data / "run.json")
    terminal.emergencies.insert(0, parts.kill)
    stack.callback(parts.stop)
    commands = plan(port, data)
    prepare(commands, data, parts, terminal)
    for name, command in commands.parts.items():
        parts.start(name, command)
    wait_for_web(port, parts, terminal)
    terminal.say(banner.render_banner(variables["BASE_URL"], data))
    watch(parts, servers, terminal)


def wanted_port() -> int:
    text = os.environ.get("PORT") or "8000"
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise StartupError(f"PORT={text} is not a port: give a number from 1 to 65535")
    return int(text)


def lock_data(data: Path, stack: ExitStack) -> None:
    """One run of a checkout at a time; the lock goes with the process, however that ends."""
    lock = files.lock(data / "lock")
    if lock is None:
        raise StartupError(f"It is running already, as process {files.kept(data / 'lock')}; stop that first")
    os.truncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    stack.callback(os.close, lock)


def refuse_taken(port: int) -> None:
    another = port + 1 if port < 65535 else 8000
    taken = StartupError(f"Port {port} is taken; choose another with PORT={another} make run")
    with socket.socket() as caller:
        if caller.connect_ex(("127.0.0.1", port)) == 0:
            raise taken
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except PermissionError:
            raise StartupError(f"Port {port} is for root alone; choose another with PORT=8000 make run") from None
        except OSError:
            raise taken from None


def prepare(commands: Plan, data: Path, parts: ProcessGroup, terminal: Terminal) -> None:
    """Bring the database up to date, and load the demo the first time."""
    applied = sum("Applying " in line for line in do("migrate", commands.migrate, parts, terminal))
    if applied:
        terminal.say(f"Applied {applied} migrations.")
    if not (data / "demo.json").exists():
        terminal.say("Loading the demo, this once ...")
    do("demo", commands.demo, parts, terminal)


def do(name: str, command: Sequence[str], parts: ProcessGroup, terminal: Terminal) -> list[str]:
    """Run a command that ends, and return what it said; if it fails, show that."""
    terminal.check()
    said: list[str] = []
    part = parts.start(name, command, said.append)
    parts.listen_until(lambda: part.has_ended() or terminal.wants_the_end())
    parts.end(part)
    terminal.check()
    if part.process.returncode:
        terminal.say("\n".join(said))
        raise StartupError(f"{name} {part.ending()}; everything was stopped")
    return said


def wait_for_web(port: int, parts: ProcessGroup, terminal: Terminal) -> None:
    def is_decided() -> bool:
        return bool(terminal.wants_the_end() or parts.ended() or is_healthy(port))

    if not parts.listen_until(is_decided, PATIENCE):
        raise StartupError(f"The web server didn't answer within {PATIENCE} seconds; everything was stopped")
    refuse_ended(parts, [])
    terminal.check()


def is_healthy(port: int) -> bool:
    line = HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        line.request("GET", "/readyz")
        return line.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        line.close()


def watch(parts: ProcessGroup, servers: list[Server], terminal: Terminal) -> None:
    while True:
        terminal.check()
        refuse_ended(parts, servers)
        parts.listen(0.2)


def refuse_ended(parts: ProcessGroup, servers: list[Server]) -> None:
    part = parts.ended()
    if part:
        raise StartupError(f"{part.name} {part.ending()}; everything was stopped")
    server = next((server for server in servers if server.has_ended()), None)
    if server:
        raise StartupError(f"{server.name} stopped by itself (see {server.log}); everything was stopped")


def clean(root: Path) -> int:
    """Remove the data of the runs, wherever it is."""
    data = root / ".data"
    if not data.exists():
        return 0
    with ExitStack() as stack:
        lock_data(data, stack)
        end_leftovers(data / "run.json")
        for name, kind in environment.SERVERS.values():
            kind(data / name).remove()
        shutil.rmtree(data)
    return 0
