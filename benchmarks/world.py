"""What a run needs: databases of two sizes, web servers on them; everything ends with it."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from pipeline_backend.local import processes
from pipeline_backend.local.embedded import free_port

ROOT = Path(__file__).resolve().parents[1]
OURS = "pipeline_backend.web.rsgi:server"
YARDSTICKS = "benchmarks.ordinary.wsgi:server"
# As in production (Dockerfile), but for the address.
SETTINGS = {"WEBHOOKS_ALLOW_PRIVATE": "true"}  # the receivers are here
GRANIAN = "granian --interface rsgi --host 127.0.0.1 --http 1 --no-ws --no-access-log --log-level warning"


@dataclass
class Database:
    """A database and what `preparing` said of it."""

    url: str
    facts: dict[str, Any]

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows, for the benchmark's own questions."""
        with psycopg.connect(self.url, autocommit=True) as line:
            return line.execute(sql).fetchall()  # type: ignore[arg-type]  # our own text


@dataclass
class Server:
    """A web server."""

    process: "subprocess.Popen[bytes]"
    port: int

    def workers(self) -> list[int]:
        """The processes that serve."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in children]

    def memory(self) -> int:
        """Bytes that the workers hold."""
        return sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.workers()) * os.sysconf(
            "SC_PAGE_SIZE"
        )


@dataclass
class World:
    """Databases and servers, made when they are first asked for."""

    folder: Path
    stack: ExitStack = field(default_factory=ExitStack)
    servers: dict[tuple[str, str, int], Server] = field(default_factory=dict)

    def __enter__(self) -> "World":
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def database(self, name: str, appointments: int) -> Database:
        """A new database with so many appointments."""
        server = os.environ["DATABASE_URL"]
        with psycopg.connect(server, autocommit=True) as line:
            line.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
        url = urlsplit(server)._replace(path=f"/{name}").geturl()
        self.python(url, "manage.py", "migrate", "-v0")
        said = self.python(url, "-m", "benchmarks.preparing", str(appointments))
        return Database(url, json.loads(said))

    def python(self, url: str, *words: str) -> str:
        """Run a command of ours on a database; what it said."""
        environment = {**os.environ, **SETTINGS, "DATABASE_URL": url}
        return subprocess.run(
            [sys.executable, *words], env=environment, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def serve(self, application: str, database: Database, workers: int = 2) -> Server:
        """The application on the database, started once."""
        key = (application, database.url, workers)
        if key not in self.servers:
            self.servers[key] = self.start(application, database, workers)
        return self.servers[key]

    def start(self, application: str, database: Database, workers: int) -> Server:
        """A web server of its own, waited for."""
        port = free_port()
        command = [sys.executable, "-m", *GRANIAN.split(), "--port", str(port), "--workers", str(workers), application]
        settings = {"DJANGO_SETTINGS_MODULE": "benchmarks.ordinary.settings"} if application == YARDSTICKS else {}
        with (self.folder / f"web-{port}.log").open("wb") as log:
            environment = {**os.environ, **SETTINGS, **settings, "DATABASE_URL": database.url}
            process = processes.start(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        server = Server(process, port)
        self.stack.callback(self.stop, server)
        until = time.monotonic() + 30
        while not answers(port):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError((self.folder / f"web-{port}.log").read_text()[-3000:])
            time.sleep(0.05)
        return server

    def stop(self, server: Server) -> None:
        """End it and its workers."""
        self.servers = {key: one for key, one in self.servers.items() if one is not server}
        processes.send_signal(os.killpg, server.process.pid, signal.SIGKILL)
        server.process.wait(10)


def answers(port: int) -> bool:
    """Whether it serves."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
