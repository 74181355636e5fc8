"""A PgBouncer with the configuration of `docs/pgbouncer.ini`, in front of the tests' PostgreSQL."""

import configparser
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from types import TracebackType
from urllib.parse import SplitResult

import psycopg

from dev.local import processes
from dev.local.as_root import nobody_ids
from tests.faults.stack import reserved_port
from tests.programs import find_program

SAMPLE = Path(__file__).parents[2] / "docs" / "pgbouncer.ini"


class PgBouncer:
    """Runs PgBouncer in front of a PostgreSQL server, for all of its databases. It ends with the block."""

    def __init__(self, postgres: SplitResult, **options: object) -> None:
        """`postgres` is the server's URL; `options` replace those of the sample's section `pgbouncer`."""
        self.program = find_program("pgbouncer")
        self.postgres, self.options = postgres, options
        self.port = reserved_port()

    def url(self, database: str) -> str:
        """Return the URL of a database behind PgBouncer."""
        login = f"{self.postgres.username}:{self.postgres.password}"
        return f"postgres://{login}@127.0.0.1:{self.port}/{database}"

    def __enter__(self) -> "PgBouncer":
        # PgBouncer refuses to run as root, and `nobody` can't enter pytest's own folders.
        self.folder = Path(tempfile.mkdtemp(prefix="pgbouncer-"))
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()
        shutil.rmtree(self.folder)

    def start(self) -> None:
        """Start it with the current options, and wait until a client can sign in."""
        uid, gid = nobody_ids() if os.geteuid() == 0 else (os.geteuid(), os.getegid())
        self.write_configuration()
        for path in (self.folder, *self.folder.iterdir()):
            os.chown(path, uid, gid)
        with (self.folder / "log").open("ab") as log:
            self.process = processes.start(
                [self.program, str(self.folder / "pgbouncer.ini")],
                parent_death_signal=signal.SIGKILL,
                user=uid,
                group=gid,
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        self.wait_until_ready()

    def kill(self) -> None:
        """Kill it: every client's connection breaks."""
        self.process.kill()
        self.process.wait(30)

    def write_configuration(self) -> None:
        """Write the sample with this server's addresses, and the password file."""
        sample = configparser.ConfigParser(interpolation=None)
        sample.read(SAMPLE)
        connect_query = sample["databases"]["pipeline"].partition("connect_query=")[2]
        address = f"host={self.postgres.hostname} port={self.postgres.port}"
        sample["databases"] = {"*": f"{address} connect_query={connect_query}"}
        users = self.folder / "userlist.txt"
        users.write_text(f'"{self.postgres.username}" "{self.postgres.password}"\n')
        sample["pgbouncer"].update({"listen_port": str(self.port), "auth_file": str(users), "unix_socket_dir": ""})
        sample["pgbouncer"].update({name: str(value) for name, value in self.options.items()})
        with (self.folder / "pgbouncer.ini").open("w") as file:
            sample.write(file)

    def wait_until_ready(self) -> None:
        """Wait until a client can sign in."""
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=3).close()
                return
            except psycopg.OperationalError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                assert time.monotonic() < until, (self.folder / "log").read_text()
            time.sleep(0.05)
