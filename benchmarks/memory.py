"""`python -m benchmarks.memory`: the memory and the database connections of each process, as a table (docs/operate.md).

It measures twice: with PostgreSQL's default settings and two web processes, and with the settings for a server with
1 GB. On Linux only, and after `make test`, which installs what it needs:

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
from dataclasses import dataclass
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
CELERY = [sys.executable, "-m", "celery", "-A", "pipeline_backend.celery"]
WORKER = ["worker", "--loglevel", "warning", "--pool", "threads", "--concurrency", "4", "--without-gossip"]
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
    """One of the two measurements: its name, the number of web processes, and settings of PostgreSQL."""

    name: str
    web_workers: int
    postgres: Mapping[str, str]


SETUPS = [
    Setup("default settings, `--workers 2`", 2, {}),
    Setup(
        "settings for 1 GB, `--workers 1`",
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


def measure(setup: Setup, folder: Path, stack: ExitStack) -> Iterator[tuple[str, Usage, Usage]]:
    """Start everything, and yield for each process its name and its usage after the warm-up and after the load."""
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
    database = environment.create_database("memory", APPOINTMENTS)
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("UPDATE webhooks_endpoint SET url = %s", [receiver.url("ok/1")])
    cookie = environment.run_python(database.url, "-c", LOGIN).strip()

    web = environment.web_server(PRODUCT_APP, database, setup.web_workers)
    started = {"web": psutil.Process(web.process.pid)}
    started["worker"] = start(stack, [*CELERY, *WORKER], {"DATABASE_URL": database.url}, folder / "worker.log")
    assert postgres.process
    assert redis.process
    started |= {"PostgreSQL": psutil.Process(postgres.process.pid), "Valkey": psutil.Process(redis.process.pid)}
    port = web.port
    if caddy := shutil.which("caddy"):
        port = free_port()
        addresses = {"SITE_ADDRESS": f"http://127.0.0.1:{port}", "WEB_ADDRESS": f"127.0.0.1:{web.port}"}
        command = [caddy, "run", "--config", str(ROOT / "Caddyfile"), "--adapter", "caddyfile"]
        started["Caddy"] = start(stack, command, {**addresses, "HOME": str(folder)}, folder / "caddy.log")
        processes.wait_until(lambda: is_listening(port), 60)

    database_port = int(url_port(database.url))
    send_load(database, web.port, port, cookie, share=0.02)
    time.sleep(10)  # the worker sends what the bookings have caused
    warm = {name: usage(process, database_port) for name, process in started.items()}
    send_load(database, web.port, port, cookie, share=1)
    time.sleep(10)
    for name, process in started.items():
        yield name, warm[name], usage(process, database_port)


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
    output("| | process | own MB, warm | own MB, after load | with its share, after load | connections |")
    output("|---|---|---|---|---|---|")
    for setup in SETUPS:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            total = 0.0
            for name, warm, loaded in measure(setup, Path(folder), stack):
                total += loaded.proportional
                connections = loaded.connections if name in {"web", "worker"} else ""
                row = f"| {name} | {warm.own:.0f} | {loaded.own:.0f} | {loaded.proportional:.0f} | {connections} |"
                output(f"| {setup.name} {row}")
            output(f"| {setup.name} | all | | | {total:.0f} | |")


if __name__ == "__main__":
    main()
