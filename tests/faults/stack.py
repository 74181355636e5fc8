"""The whole service as processes, on the test's database and a Redis of its own: for faults that need real signals."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any, NamedTuple

from celery import Celery
from django.db import connection
from redis import Redis as Client

from pipeline_backend.local import processes
from pipeline_backend.local.embedded import Redis, free_port
from tests.client import booking_payload

ROOT = Path(__file__).resolve().parents[2]
WORKER = "worker --loglevel warning --pool threads --concurrency 4 --without-gossip --without-mingle -n {name}@test"
GRANIAN = "granian --interface rsgi --host 127.0.0.1 --port {port} --workers {web_workers} --respawn-failed-workers --no-access-log"
COMMANDS = {
    "web": f"{GRANIAN} pipeline_backend.web.rsgi:server",
    "worker": f"celery -q -A pipeline_backend.celery {WORKER}",
    "beat": "celery -A pipeline_backend.celery beat --loglevel warning --schedule {folder}/{name}.schedule --pidfile=",
    # Parts that kill themselves; their modules say when.
    "doomed_web": f"{GRANIAN} tests.faults.doomed_web:server",
    "doomed": "tests.faults.doomed_worker {wish} -- -q " + WORKER,
}


class Answer(NamedTuple):
    """What came back; status 0 if nobody answered."""

    code: int
    data: Any = None
    headers: dict[str, str] = {}


@dataclass
class Stack:
    """Starts, signals and stops the parts; every one is gone when the test is over. `settings` are for parts started later."""

    folder: Path
    port: int = field(default_factory=free_port)
    parts: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    web_workers: int = 1

    def __enter__(self) -> "Stack":
        self.redis = Redis(self.folder / "redis", throwaway=True)
        self.redis_url = self.redis.start()
        self.redis_port = int(self.redis_url.rsplit(":", 1)[1].split("/")[0])
        self.celery = Celery(broker=self.redis_url, set_as_current=False)
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.parts):
            self.kill(name)
        self.celery.close()
        self.redis.remove()
        connection.close()  # a fault may have broken it; the next test gets another
        for log in self.folder.glob("*.log"):
            sys.stdout.write(
                f"--- the end of {log.name}\n{log.read_text()[-2000:]}\n"
            )  # pytest shows it with a failure

    def start(self, *names: str, wish: str = "") -> None:
        """Start parts; the web server is waited for. `worker-2` is another worker, `wish` what a doomed one is told."""
        for name in names:
            facts = {
                "port": self.port,
                "web_workers": self.web_workers,
                "folder": self.folder,
                "name": name,
                "wish": wish,
            }
            command = COMMANDS[name.split("-")[0]].format(**facts)
            program = [sys.executable, "-m", *command.split()]
            with (self.folder / f"{name}.log").open("ab") as log:
                self.parts[name] = processes.start(
                    program, last_wish=signal.SIGKILL, cwd=ROOT, env=self.environment(), stdout=log, stderr=log
                )
        if {"web", "doomed_web"} & set(names):
            wait_for(self.serves, seconds=30)

    def serves(self) -> bool:
        """Whether the web server answers; no part may have ended meanwhile."""
        assert all(part.poll() is None for part in self.parts.values()), "a part ended at its start"
        return self.get("/readyz")[0] == 200

    def environment(self) -> dict[str, str]:
        """As in a local run, on the test's database."""
        database = connection.settings_dict
        url = f"postgres://{database['USER']}:{database['PASSWORD']}@{database['HOST']}:{database['PORT']}/{database['NAME']}"
        mail = f"filemail:///{self.folder}/mail"
        own = {"DATABASE_URL": url, "REDIS_URL": self.redis_url, "WEBHOOKS_ALLOW_PRIVATE": "true", "EMAIL_URL": mail}
        own["PYTHONWARNINGS"] = "ignore:::celery.platforms"  # it warns root
        return {**os.environ, **own, **self.settings}

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a part and all it started a signal; forget it if that was its end."""
        part = self.parts[name]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(part.pid, number)
        if number == signal.SIGSTOP:
            os.waitpid(part.pid, os.WUNTRACED)  # it stands still only a moment later
        if number == signal.SIGKILL:
            part.wait(10)
            del self.parts[name]

    def ending(self, name: str, *, seconds: float) -> int:
        """Wait for the end of a part; its exit code, -9 for SIGKILL."""
        try:
            return self.parts[name].wait(seconds)
        finally:
            self.kill(name)

    def stop_redis(self) -> None:
        """Redis refuses connections from now on."""
        self.redis.kill()

    def start_redis(self) -> None:
        """It is back, empty, where it was."""
        self.redis.process = self.redis.spawn(self.redis_port)
        wait_for(lambda: self.redis.answers(self.redis_port), seconds=10)

    def flush_redis(self) -> None:
        """It has forgotten everything."""
        with Client.from_url(self.redis_url) as redis:
            redis.flushall()

    def freeze_redis(self) -> None:
        """Redis takes connections and never answers, like a host behind a broken network."""
        assert self.redis.process is not None
        self.redis.process.send_signal(signal.SIGSTOP)

    def thaw_redis(self) -> None:
        """It goes on where it was."""
        assert self.redis.process is not None
        self.redis.process.send_signal(signal.SIGCONT)

    def send_task(self, name: str, *arguments: Any) -> None:
        """A message to the workers, as a doorbell would send it."""
        self.celery.send_task(name, arguments)

    def get(self, path: str, key: str = "") -> tuple[int, Any]:
        """Status and JSON of a read; status 0 if nobody answers."""
        answer = self.send(urllib.request.Request(self.url(path), headers={"x-api-key": key}))
        return answer.code, answer.data

    def book(self, key: str, **fields: Any) -> tuple[int, Any]:
        """Status and JSON of a booking over the wire."""
        answer = self.try_to_book(key, **fields)
        return answer.code, answer.data

    def try_to_book(self, key: str, **fields: Any) -> Answer:
        """All of the answer to a booking."""
        body = json.dumps(booking_payload(**fields)).encode()
        headers = {"x-api-key": key, "Content-Type": "application/json"}
        return self.send(urllib.request.Request(self.url("/api/external/appointments"), data=body, headers=headers))

    def url(self, path: str) -> str:
        """The web server's address of it."""
        return f"http://127.0.0.1:{self.port}{path}"

    def send(self, request: urllib.request.Request) -> Answer:
        """What came back."""
        try:
            with self.open(request) as answer:
                return Answer(answer.status, json.load(answer), lower(answer.headers))
        except OSError:
            return Answer(0)

    def open(self, request: urllib.request.Request) -> Any:
        """The answer, of whatever status."""
        try:
            return urllib.request.urlopen(request, timeout=20)
        except urllib.error.HTTPError as error:
            return error


def lower(headers: Message) -> dict[str, str]:
    """Names in lower case."""
    return {name.lower(): value for name, value in headers.items()}


def wait_for(is_so: Callable[[], Any], *, seconds: float) -> None:
    """Return when it comes true; fail after so many seconds."""
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, f"not so after {seconds} s"
        time.sleep(0.05)
