"""The whole service as processes, on the test's database and a Redis of its own: for faults that need real signals."""

import contextlib
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from celery import Celery
from django.db import connection
from redis import Redis as Client

from dev.local import processes
from dev.local.embedded import Redis
from tests.client import booking_payload
from tests.overrides import overriding
from tests.parallel import MAX_PROCESSES

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = "--loglevel warning -n {name}@test"
WORKER = f"worker {OPTIONS} --pool threads --concurrency 4 --without-gossip --without-mingle"
WEB = "pipeline_backend.web --host 127.0.0.1 --port {port} --workers {web_workers}"
COMMANDS = {
    "web": WEB,
    "worker": f"pipeline_backend.worker {OPTIONS}",
    "frequent_worker": "tests.faults.frequent_worker -q " + WORKER,
    # These kill themselves; their modules say when.
    "crashing_web": f"{WEB} --application tests.faults.crashing_web:server",
    "streaming_web": f"{WEB} --application tests.hostile.streaming_web:server",
    "crashing_worker": "tests.faults.crashing_worker {arguments} -- -q " + WORKER,
}


PORTS_OF_EACH = 2000
_port_numbers = itertools.count(random.randrange(PORTS_OF_EACH))


def reserved_port() -> int:
    """Return a free port that nothing else takes before the server listens on it, and that wasn't returned lately.

    The kernel gives ports of this range to no client. Each process of pytest has some of its own.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    while True:
        port = 20_000 + worker % MAX_PROCESSES * PORTS_OF_EACH + next(_port_numbers) % PORTS_OF_EACH
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Response(NamedTuple):
    """An HTTP response; status 0 if there was none."""

    status: int
    data: Any = None
    headers: dict[str, str] = {}


@dataclass
class Stack:
    """Starts, signals and stops the processes. All are gone when the block ends.

    `settings` are environment variables for processes that are started later, `overrides` are Django settings that no
    variable sets.
    """

    folder: Path
    port: int = field(default_factory=reserved_port)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    # All receivers of a test are at one host.
    overrides: dict[str, object] = field(default_factory=lambda: {"WEBHOOKS_PER_HOST_PER_MINUTE": 1_000_000})
    web_workers: int = 1
    patience: float = 120  # seconds for the web server to be ready

    def __enter__(self) -> "Stack":
        self.redis = Redis(self.folder / "redis", ephemeral=True)
        self.redis_url = self.redis.start()
        self.redis_port = int(self.redis_url.rsplit(":", 1)[1].split("/")[0])
        self.celery = Celery(broker=self.redis_url, set_as_current=False)
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.processes):
            self.kill(name)
        self.celery.close()
        self.redis.remove()
        connection.close()  # a fault may have broken it; the next test opens another
        for log in self.folder.glob("*.log"):
            # pytest shows this if the test failed.
            sys.stdout.write(f"--- the end of {log.name}\n{log.read_text()[-8000:]}\n")

    def start(self, *names: str, arguments: str = "") -> None:
        """Start processes and wait until the web server is ready.

        The part of a name before "-" is the command: `worker-2` is a second worker. `arguments` are for crashing ones.
        """
        for name in names:
            command = COMMANDS[name.split("-")[0]].format(
                port=self.port_of(name),
                web_workers=self.web_workers,
                name=name,
                arguments=arguments,
            )
            program = [sys.executable, "-m", *command.split()]
            with (self.folder / f"{name}.log").open("ab") as log:
                self.processes[name] = processes.start(
                    program,
                    parent_death_signal=signal.SIGKILL,
                    cwd=self.checkout(name),
                    env=self.environment(name),
                    stdout=log,
                    stderr=log,
                )
        if {"web", "crashing_web", "streaming_web"} & set(names):
            wait_for(self.is_ready, seconds=self.patience)

    def is_ready(self) -> bool:
        """Return True if the web server answers. Fails if any process has ended."""
        assert all(process.poll() is None for process in self.processes.values()), "a process ended at its start"
        return self.get("/readyz")[0] == 200

    def port_of(self, name: str) -> int:
        """Return the port of a web server."""
        return self.port

    def checkout(self, name: str) -> Path:
        """Return the folder with the code that a process runs."""
        return ROOT

    def environment(self, name: str) -> dict[str, str]:
        """Return the environment of a process: that of a local run, on the test's database."""
        variables = {
            "WEBHOOKS_ALLOW_PRIVATE": "true",
            "EMAIL_URL": f"filemail:///{self.folder}/mail",
            "PYTHONWARNINGS": "ignore:::celery.platforms",  # Celery warns when root starts it
        }
        return {**os.environ, **overriding(**self.overrides), **self.servers(), **variables, **self.settings}

    def servers(self) -> dict[str, str]:
        """Return the settings that name the test's database and our Redis."""
        database = connection.settings_dict
        login = f"{database['USER']}:{database['PASSWORD']}"
        address = f"{database['HOST']}:{database['PORT']}/{database['NAME']}"
        return {"DATABASE_URL": f"postgres://{login}@{address}", "REDIS_URL": self.redis_url}

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to a process and all its children; after SIGKILL, wait for its end and forget it."""
        process = self.processes[name]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        if number == signal.SIGSTOP:
            os.waitpid(process.pid, os.WUNTRACED)  # the signal takes effect only a moment later
        if number == signal.SIGKILL:
            process.wait(60)
            del self.processes[name]

    def wait_for_exit(self, name: str, *, seconds: float = 60) -> int:
        """Wait until a process ends and return its exit code, -9 for SIGKILL."""
        try:
            return self.processes[name].wait(seconds)
        finally:
            self.kill(name)

    def ended_processes(self) -> list[str]:
        """Return the processes that have ended and weren't killed."""
        return [name for name, process in self.processes.items() if process.poll() is not None]

    def stop_redis(self) -> None:
        """Kill Redis, so that connections are refused."""
        self.redis.stop(first_step=1)

    def start_redis(self) -> None:
        """Start it again, empty, on the same port."""
        self.redis.process = self.redis.spawn()
        wait_for(self.redis.is_ready)

    def flush_redis(self) -> None:
        """Delete everything in Redis."""
        with Client.from_url(self.redis_url) as redis:
            redis.flushall()

    def freeze_redis(self) -> None:
        """Let Redis accept connections and never answer, like a host behind a broken network."""
        assert self.redis.process is not None
        self.redis.process.send_signal(signal.SIGSTOP)

    def unfreeze_redis(self) -> None:
        """Let Redis continue where it was stopped."""
        assert self.redis.process is not None
        self.redis.process.send_signal(signal.SIGCONT)

    def send_task(self, name: str, *arguments: Any) -> None:
        """Publish a message to the workers, as the service does."""
        self.celery.send_task(name, arguments)

    def get(self, path: str, key: str = "") -> tuple[int, Any]:
        """Return status and JSON of a GET request; status 0 if there is no response."""
        response = self.send(urllib.request.Request(self.url(path), headers={"x-api-key": key}))
        return response.status, response.data

    def book(self, key: str, **fields: Any) -> tuple[int, Any]:
        """Create an appointment; return status and JSON."""
        response = self.send_booking(key, **fields)
        return response.status, response.data

    def send_booking(self, key: str, **fields: Any) -> Response:
        """Create an appointment; return the whole response."""
        body = json.dumps(booking_payload(**fields)).encode()
        headers = {"x-api-key": key, "Content-Type": "application/json"}
        return self.send(urllib.request.Request(self.url("/api/external/appointments"), data=body, headers=headers))

    def url(self, path: str) -> str:
        """Return the path's URL at the web server."""
        return f"http://127.0.0.1:{self.port}{path}"

    def send(self, request: urllib.request.Request) -> Response:
        """Send a request and return the response, with lower-case header names."""
        try:
            with self.open(request) as response:
                headers = {name.lower(): value for name, value in response.headers.items()}
                return Response(response.status, json.load(response), headers)
        except OSError:
            return Response(0)

    def open(self, request: urllib.request.Request) -> Any:
        """Open a request and return its response, whatever its status."""
        try:
            return urllib.request.urlopen(request, timeout=60)
        except urllib.error.HTTPError as error:
            return error


def wait_for(condition: Callable[[], Any], *, seconds: float = 120) -> None:
    """Return as soon as the condition is true; fail after `seconds`.

    The limit is no claim about speed, and generous, because the machine may be busy: it costs only failing tests time.
    """
    stop_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < stop_at, f"not true after {seconds} s"
        time.sleep(0.05)
