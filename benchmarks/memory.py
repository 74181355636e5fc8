"""`python -m benchmarks.memory`: the memory and the database connections of each process, as a table (docs/operate.md).

It measures three times: as `make run` and as the Compose file start everything, and with the settings for 1 GB. Linux
only, and after `make test`, which installs what it needs. With a number of appointments behind it, only the last:

.venv/bin/python -m dev.local with-servers .venv/bin/python -m benchmarks.memory
"""

import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from urllib.request import Request, urlopen

import psutil
import psycopg

from benchmarks.__main__ import output
from benchmarks.environment import PRODUCT_APP, ROOT, VARIABLES, Database, Environment
from benchmarks.load_generator import get_request, run_load
from benchmarks.suites.writes import BOOKING_PATH, booking, post_requests
from dev.local import processes
from dev.local.embedded import Postgres, Redis
from dev.local.server import free_port
from tests.databases import superuser_url
from tests.faults.fast_receiver import FastReceiver
from tests.overrides import overriding

APPOINTMENTS = 20_000
LISTS, BOOKINGS, PAGES, CONNECTIONS = 4_000, 2_000, 300, 8
WORKER = [sys.executable, "-m", "pipeline_backend.worker", "--loglevel", "warning"]
LOGIN = """
import django; django.setup()
from django.conf import settings
from django.test import Client
from organizations.models import User
client = Client()
client.force_login(User.objects.create_superuser("admin@memory.example"))
print(settings.SESSION_COOKIE_NAME + "=" + client.cookies[settings.SESSION_COOKIE_NAME].value)
"""


@dataclass(frozen=True)
class Setup:
    """One of the measurements: its name, the web servers, the processes of each, and settings of PostgreSQL."""

    name: str
    web_servers: int
    web_workers: int
    postgres: Mapping[str, str] = field(default_factory=dict)


SETUPS = [
    Setup("`make run`", 1, 2),
    Setup("Compose", 2, 1),
    Setup(
        "for 1 GB",
        1,
        1,
        {"shared_buffers": "64MB", "max_connections": "40", "autovacuum_max_workers": "2", "jit": "off"},
    ),
]


@dataclass(frozen=True)
class Usage:
    """Of a process and its children: MB of their own and with a share of what is shared, and database connections."""

    own: float
    proportional: float
    connections: int


def usage(process: psutil.Process, database_port: int) -> Usage:
    """Measure a process with all its descendants."""
    family = [process, *process.children(recursive=True)]
    memory = [member.memory_full_info() for member in family]
    connected = [
        connection
        for member in family
        for connection in member.net_connections(kind="tcp")
        if connection.raddr and connection.raddr.port == database_port
    ]
    return Usage(sum(each.uss for each in memory) / 2**20, sum(each.pss for each in memory) / 2**20, len(connected))


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def measure(setup: Setup, rows: int, folder: Path, stack: ExitStack) -> Iterator[tuple[str, Usage, Usage]]:
    """Start everything, and yield for each process its name and its usage at rest and after the load."""
    redis, postgres = Redis(folder / "redis", ephemeral=True), Postgres(folder / "postgres", ephemeral=True)
    for server in (redis, postgres):
        stack.callback(server.remove)
    url = postgres.start()
    with psycopg.connect(superuser_url(url), autocommit=True) as connection:
        for name, value in setup.postgres.items():
            connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
    postgres.stop()
    os.environ |= {"DATABASE_URL": postgres.start(), "REDIS_URL": redis.start()}
    environment = stack.enter_context(Environment(folder))
    receiver = stack.enter_context(FastReceiver(folder))
    database = environment.create_database("memory", rows)
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("UPDATE webhooks_endpoint SET url = %s", [receiver.url("ok/1")])
    cookie = environment.run_python(database.url, "-c", LOGIN).strip()

    servers = [environment.start_web_server(PRODUCT_APP, database, setup.web_workers) for _ in range(setup.web_servers)]
    started = {f"web {number}": psutil.Process(web.process.pid) for number, web in enumerate(servers, 1)}
    started["worker"] = start(stack, WORKER, {"DATABASE_URL": database.url}, folder / "worker.log")
    assert postgres.process
    assert redis.process
    started |= {"PostgreSQL": psutil.Process(postgres.process.pid), "Valkey": psutil.Process(redis.process.pid)}
    port = servers[0].port
    if caddy := shutil.which("caddy"):
        port = free_port()
        addresses = {"SITE_ADDRESS": f"http://127.0.0.1:{port}", "WEB_ADDRESS": f"127.0.0.1:{servers[0].port}"}
        command = [caddy, "run", "--config", str(ROOT / "Caddyfile"), "--adapter", "caddyfile"]
        started["Caddy"] = start(stack, command, {**addresses, "HOME": str(folder)}, folder / "caddy.log")
        processes.wait_until(lambda: is_listening(port), 60)

    database_port = int(url_port(database.url))
    time.sleep(20)  # a new web process warms up, a new worker connects
    rest = {name: usage(process, database_port) for name, process in started.items()}
    for web in servers:
        send_load(database, web.port, port, cookie, share=1 / setup.web_servers)
    time.sleep(10)  # the worker sends what the bookings have caused
    for name, process in started.items():
        yield name, rest[name], usage(process, database_port)


def start(stack: ExitStack, command: list[str], variables: dict[str, str], log: Path) -> psutil.Process:
    """Start a process that `stack` kills."""
    with log.open("wb") as file:
        environment = {**os.environ, **VARIABLES, **variables}
        process = processes.start(command, cwd=ROOT, env=environment, stdout=file, stderr=file)
    stack.callback(process.wait)
    stack.callback(process.kill)
    return psutil.Process(process.pid)


def url_port(url: str) -> str:
    return url.rsplit(":", 1)[1].split("/")[0]


def send_load(database: Database, web_port: int, port: int, cookie: str, *, share: float) -> None:
    """Read lists of 100 and book at the web server; open the admin's list of appointments through the proxy."""
    key = database.dataset.api_key
    lists = cycle([get_request("/api/external/appointments?limit=100", key)])
    bookings = post_requests(BOOKING_PATH, [key], booking)
    for requests, number in ((lists, LISTS), (bookings, BOOKINGS)):
        run_load(web_port, requests, connections=CONNECTIONS, count=max(CONNECTIONS, int(number * share)))
    page = Request(f"http://127.0.0.1:{port}/admin/appointments/appointment/?view=all", headers={"Cookie": cookie})
    for _ in range(int(PAGES * share)):
        with urlopen(page, timeout=60) as response:
            response.read()
            if not response.url.endswith("/admin/appointments/appointment/?view=all"):
                raise RuntimeError(response.url)


def main() -> None:
    """Print the table, row by row."""
    os.environ |= overriding(ADMIN_REQUESTS_PER_MINUTE=1_000_000)
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else APPOINTMENTS
    output(f"{rows:,} appointments; MB with a share of what processes share")
    output("| | process | at rest | after load | own, after load | connections |")
    output("|---|---|---|---|---|---|")
    for setup in SETUPS[-1:] if len(sys.argv) > 1 else SETUPS:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            before, after = 0.0, 0.0
            for name, rest, loaded in measure(setup, rows, Path(folder), stack):
                before, after = before + rest.proportional, after + loaded.proportional
                connections = f"{loaded.connections}" if loaded.connections else ""
                row = f"| {name} | {rest.proportional:.0f} | {loaded.proportional:.0f} | {loaded.own:.0f} |"
                output(f"| {setup.name} {row} {connections} |")
            output(f"| {setup.name} | together | {before:.0f} | {after:.0f} | | |")


if __name__ == "__main__":
    main()
