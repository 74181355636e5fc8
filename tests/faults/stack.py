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
from pathlib import Path
from typing import Any

from django.db import connection

from pipeline_backend.local.embedded import Redis, free_port
from tests.client import booking

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "web": "granian --interface wsgi --host 127.0.0.1 --port {port} --workers 1 --blocking-threads 4 --no-access-log pipeline_backend.wsgi:application",
    "worker": "celery -A pipeline_backend.celery worker --loglevel warning --pool threads --concurrency 4 --without-gossip --without-mingle -n {port}@test",
    "beat": "celery -A pipeline_backend.celery beat --loglevel warning --schedule {folder}/schedule --pidfile=",
}


@dataclass
class Stack:
    """Starts, signals and stops the parts; every one is gone when the test is over."""

    folder: Path
    port: int = field(default_factory=free_port)
    parts: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> "Stack":
        self.redis = Redis(self.folder / "redis", throwaway=True)
        self.redis_url = self.redis.start()
        self.redis_port = int(self.redis_url.rsplit(":", 1)[1].split("/")[0])
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self.parts):
            self.kill(name)
        self.redis.remove()

    def start(self, *names: str) -> None:
        """Start parts; the web server is waited for."""
        for name in names:
            command = COMMANDS[name].format(port=self.port, folder=self.folder).split()
            program = [sys.executable, "-m", *command] if name != "web" else [str(Path(sys.executable).parent / command[0]), *command[1:]]
            with (self.folder / f"{name}.log").open("ab") as log:
                self.parts[name] = subprocess.Popen(program, cwd=ROOT, env=self.environment(), stdout=log, stderr=log, start_new_session=True)
        if "web" in names:
            wait_for(lambda: self.get("/healthz")[0] == 200, seconds=30)

    def environment(self) -> dict[str, str]:
        """As in a local run, on the test's database."""
        settings = connection.settings_dict
        url = f"postgres://{settings['USER']}:{settings['PASSWORD']}@{settings['HOST']}:{settings['PORT']}/{settings['NAME']}"
        mail = f"filemail:///{self.folder}/mail"
        return {**os.environ, "DATABASE_URL": url, "REDIS_URL": self.redis_url, "WEBHOOKS_ALLOW_PRIVATE": "true", "EMAIL_URL": mail}

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a part and all it started a signal; forget it if that was its end."""
        part = self.parts[name]
        with contextlib.suppress(ProcessLookupError):
            os.killpg(part.pid, number)
        if number == signal.SIGKILL:
            part.wait(10)
            del self.parts[name]

    def stop_redis(self) -> None:
        """Redis refuses connections from now on."""
        self.redis.kill()

    def start_redis(self) -> None:
        """It is back, empty, where it was."""
        self.redis.process = self.redis.spawn(self.redis_port)
        wait_for(lambda: self.redis.answers(self.redis_port), seconds=10)

    def get(self, path: str, key: str = "") -> tuple[int, Any]:
        """Status and JSON of a read; status 0 if nobody answers."""
        return self.send(urllib.request.Request(self.url(path), headers={"x-api-key": key}))

    def book(self, key: str, **fields: Any) -> tuple[int, Any]:
        """Status and JSON of a booking over the wire."""
        body = json.dumps(booking(**fields)).encode()
        headers = {"x-api-key": key, "Content-Type": "application/json"}
        return self.send(urllib.request.Request(self.url("/api/external/appointments"), data=body, headers=headers))

    def url(self, path: str) -> str:
        """The web server's address of it."""
        return f"http://127.0.0.1:{self.port}{path}"

    def send(self, request: urllib.request.Request) -> tuple[int, Any]:
        """Status and JSON."""
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
        except OSError:
            return 0, None


def wait_for(is_so: Callable[[], Any], *, seconds: float) -> None:
    """Return when it comes true; fail after so many seconds."""
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, f"not so after {seconds} s"
        time.sleep(0.05)
