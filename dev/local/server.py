"""What the embedded PostgreSQL and Redis have in common: start, stop, and the search for one of a killed run."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from dev.local import StartupError, files, processes

START_TIMEOUT = 60  # seconds; after a crash PostgreSQL replays its write-ahead log before it answers


class Server(ABC):
    """A server with a directory for its data, a password in a file, a free port and a log."""

    name: str
    url: str  # with placeholders for password and port
    # Signals, each with the seconds to wait for the end. Tried in order.
    stop_steps: list[tuple[signal.Signals, float]]
    pid_file: Path  # in which the server stores its pid
    command_line: str  # the part of its command line that no other process has
    process_options: Mapping[str, Any] = {}
    template: "Server | None" = None  # a stopped server whose data and password are copied

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
            password_file = (self.template or self).directory / "password"
            self.password = files.read_if_exists(password_file) or secrets.token_hex(24)
            files.write_private(password_file, self.password)  # also if it exists, so that its mode is right
            self.stop_leftover()
            self.prepare()
            for _attempt in range(5):
                self.port = free_port()
                self.log.write_bytes(b"")
                self.process = self.spawn()
                processes.wait_until(lambda: self.has_exited() or self.is_ready(), START_TIMEOUT)
                if not self.has_exited() and self.is_ready():
                    return self.url.format(password=self.password, port=self.port)
                self.stop()
                # Another program took the port, or the children of a killed PostgreSQL still use the data: both pass.
                if "in use" not in self.end_of_log():
                    break
                time.sleep(0.3)
        except OSError as error:
            raise StartupError(f"{self.name} could not be started: {error}") from error
        raise StartupError(f"{self.name} did not start. {self.end_of_log()}")

    def end_of_log(self) -> str:
        lines = (files.read_if_exists(self.log) or "").split("\n")
        return "\n".join([f"The last lines of {self.log}:", *lines[-8:]])

    def stop(self, first_step: int = 0) -> None:
        """Stop the server; kill it if that takes too long. Safe to repeat.

        From step 1 on it takes at most ten seconds. The data stays intact, but the next start takes longer.
        """
        for number, timeout in self.stop_steps[first_step:]:
            if self.process is not None and not self.has_exited():
                self.process.send_signal(number)
                processes.wait_until(self.has_exited, timeout)

    def remove(self) -> None:
        """Stop the server, or a leftover server on the same directory, and delete its data."""
        self.stop()
        self.stop_leftover()
        for directory in {self.directory, self.data_dir}:
            shutil.rmtree(directory, ignore_errors=True)

    def has_exited(self) -> bool:
        return self.process is None or self.process.poll() is not None

    def leftovers(self) -> list[psutil.Process]:
        """Return the main process of a killed run's server on this data, if there is one."""
        try:
            process = psutil.Process(int(self.pid_file.read_text().split("\n")[0]))
            # The system may have given the pid to another process since; the command line shows whether it has.
            return [process] if self.command_line in f"{' '.join(process.cmdline()).strip()} " else []
        except (OSError, ValueError, psutil.Error):
            return []

    def stop_leftover(self) -> None:
        """Stop a leftover server. Raises StartupError if that fails."""
        processes.stop(self.leftovers(), *self.stop_steps)
        if leftovers := self.leftovers():
            raise StartupError(f"{self.name} of an earlier run (process {leftovers[0].pid}) can't be stopped")
        # PostgreSQL refuses to start while any process has the pid in this file, which happens soon after a reboot.
        self.pid_file.unlink(missing_ok=True)

    def launch(
        self, command: Sequence[str | Path], parent_death_signal: signal.Signals, stdin: int = subprocess.DEVNULL
    ) -> "subprocess.Popen[bytes]":
        # Not our environment: variables such as PGPORT would change what the server does.
        environment = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
        with self.log.open("ab") as log:
            return processes.start(
                command,
                parent_death_signal=parent_death_signal,
                cwd=self.data_dir,
                env=environment,
                stdin=stdin,
                stdout=log,
                stderr=log,
                **self.process_options,
            )

    @abstractmethod
    def prepare(self) -> None:
        """Create the data or the configuration if it doesn't exist."""

    @abstractmethod
    def spawn(self) -> "subprocess.Popen[bytes]": ...

    @abstractmethod
    def is_ready(self) -> bool: ...


def free_port() -> int:
    """Return a port that is free now; another program may take it before it is used."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
