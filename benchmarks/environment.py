"""The databases and web servers of one benchmark run. All of them are stopped when it ends."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import psycopg

from dev.local import processes
from dev.local.server import free_port
from tests.databases import superuser_url

ROOT = Path(__file__).resolve().parents[1]
PRODUCT_APP = "pipeline_backend.web.rsgi:server"
BASELINE_APP = "benchmarks.plain_drf.wsgi:server"
BASELINE_SETTINGS = "benchmarks.plain_drf.settings"
VARIABLES = {"WEBHOOKS_ALLOW_PRIVATE": "true"}  # the webhook receivers run on this machine
# The options of the Dockerfile, apart from the address.
WEB = "pipeline_backend.web --host 127.0.0.1 --log-level warning"
START_TIMEOUT = 30
# With these, PostgreSQL waits for the disk, and no crash of the computer loses what was committed.
DURABLE_SETTINGS = ["fsync", "full_page_writes", "synchronous_commit"]


@dataclass(frozen=True)
class Dataset:
    """What requests need to know about a filled database: keys, ids, and values to filter by. `prepare` makes it."""

    organization_id: str
    api_key: str
    rate_limited_key: str  # of an organization with a limit of one request per minute
    other_organizations_keys: list[str]
    other_cookie: str  # with which the owner of the first of these is signed in to the admin
    appointment_ids: list[str]
    lead_id: str  # a lead with two appointments
    external_reference: str  # of one appointment
    event_type_id: str  # of many appointments
    rare_email: str  # a member with half a percent of the appointments
    host_email: str  # members with many appointments
    setter_email: str
    quantiles: dict[str, dict[str, str]]  # for each timestamp column: early, median, late


@dataclass(frozen=True)
class Database:
    """A database, what it contains, and the environment variables of servers that use it."""

    url: str
    dataset: Dataset
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WebServer:
    """A running web server: granian's main process, which starts the workers."""

    process: "subprocess.Popen[bytes]"
    port: int

    def worker_memory(self) -> int:
        """Return the resident memory of the worker processes in bytes."""
        main = self.process.pid
        workers = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        # The second field of statm is the number of resident pages.
        pages = sum(int(Path(f"/proc/{worker}/statm").read_text().split()[1]) for worker in workers)
        return pages * os.sysconf("SC_PAGE_SIZE")


@dataclass
class Environment:
    """Creates databases and starts web servers; stops the servers when the block ends."""

    folder: Path
    exit_stack: ExitStack = field(default_factory=ExitStack)
    servers: dict[tuple[str, str, int], WebServer] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.exit_stack.close()

    def create_database(self, name: str, appointments: int) -> Database:
        """Create a database and fill it with this many appointments."""
        server_url = os.environ["DATABASE_URL"]
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        url = urlsplit(server_url)._replace(path=f"/{name}").geturl()
        self.run_python(url, "manage.py", "migrate", "-v0")
        dataset = json.loads(self.run_python(url, "-m", "benchmarks.prepare", str(appointments)))
        return Database(url, Dataset(**dataset))

    def run_python(self, database_url: str, *arguments: str) -> str:
        """Run a Python program of the project on this database and return its output."""
        return subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, **VARIABLES, "DATABASE_URL": database_url},
            cwd=ROOT,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

    def web_server(self, application: str, database: Database, workers: int = 2) -> WebServer:
        """Return the server of the application on this database; the first call starts it."""
        key = (application, database.url, workers)
        if key not in self.servers:
            self.servers[key] = self.start_web_server(application, database, workers)
        return self.servers[key]

    def start_web_server(self, application: str, database: Database, workers: int) -> WebServer:
        """Start another server and wait until it is ready. Raises RuntimeError with its log if it isn't in time."""
        port = free_port()
        log_file = self.folder / f"web-{port}.log"
        command = [sys.executable, "-m", *WEB.split(), "--port", str(port), "--workers", str(workers)]
        command += ["--application", application]
        variables = {**os.environ, **VARIABLES, **database.variables, "DATABASE_URL": database.url}
        if application == BASELINE_APP:
            variables["DJANGO_SETTINGS_MODULE"] = BASELINE_SETTINGS
        with log_file.open("wb") as log:
            process = processes.start(command, cwd=ROOT, env=variables, stdout=log, stderr=log)
        server = WebServer(process, port)
        self.exit_stack.callback(self.stop, server)

        deadline = time.monotonic() + START_TIMEOUT
        while not is_ready(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(log_file.read_text()[-3000:])
            time.sleep(0.05)
        return server

    def stop(self, server: WebServer) -> None:
        """Kill the server and its workers, which are one process group."""
        self.servers = {key: other for key, other in self.servers.items() if other is not server}
        with suppress(ProcessLookupError):
            os.killpg(server.process.pid, signal.SIGKILL)
        server.process.wait(10)


@contextmanager
def durable_commits(url: str) -> Iterator[None]:
    """Switch the durable settings on for the length of the block, in all connections to the server."""
    change_settings(url, "ALTER SYSTEM SET {} = on", "on")
    try:
        yield
    finally:
        change_settings(url, "ALTER SYSTEM RESET {}", "off")


def change_settings(url: str, statement: str, value: str) -> None:
    """Run the statement for each durable setting. Raises RuntimeError if they don't get the value."""
    with psycopg.connect(superuser_url(url), autocommit=True) as connection:
        for name in DURABLE_SETTINGS:
            connection.execute(statement.format(name))
        connection.execute("SELECT pg_reload_conf()")
        deadline = time.monotonic() + START_TIMEOUT
        while {connection.execute(f"SHOW {name}").fetchone()[0] for name in DURABLE_SETTINGS} != {value}:
            if time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL's settings {', '.join(DURABLE_SETTINGS)} didn't become {value}")
            time.sleep(0.05)


def is_ready(port: int) -> bool:
    """Return whether the server on this port is up and reaches its database."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as response:
            return response.status == 200
    except OSError:
        return False
