"""Run management commands: in this process, or as a subprocess like a script does."""

import os
import subprocess
import sys
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

# A subprocess hashes passwords with this one; only tests in this process use a cheap hasher.
REAL_HASHER = "django.contrib.auth.hashers.PBKDF2PasswordHasher"


@dataclass(frozen=True)
class CommandOutput:
    """What a command printed."""

    out: str
    err: str


def run(*arguments: object) -> CommandOutput:
    """Run a command in this process."""
    out, err = StringIO(), StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=err)
    return CommandOutput(out.getvalue(), err.getvalue())


def command_error(*arguments: object) -> str:
    """Run a command in this process, assert that it fails with exit code 1, and return its message."""
    with pytest.raises(CommandError) as raised:
        run(*arguments)
    assert raised.value.returncode == 1
    return str(raised.value)


def run_subprocess(*arguments: object, stdin: str = "", **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a process of its own, on the tests' database. It sees only committed data."""
    return subprocess.run(
        [sys.executable, "manage.py", *map(str, arguments)],
        cwd=settings.ROOT,
        env={**os.environ, "DATABASE_URL": database_url(), **environment},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def database_url() -> str:
    """Return the URL of the database that pytest has created next to the one in the environment."""
    name: Any = connection.settings_dict["NAME"]
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()


def file_mode(file: Path) -> int:
    """Return the file's permission bits."""
    return file.stat().st_mode & 0o777
