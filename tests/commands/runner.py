"""Commands in this process and in one of their own."""

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

# Passwords set outside of a test, where hashing is not made cheap.
REAL_HASHER = "django.contrib.auth.hashers.PBKDF2PasswordHasher"


@dataclass(frozen=True)
class CommandOutput:
    """What a command printed."""

    out: str
    err: str


def run(*words: object) -> CommandOutput:
    """A command in this process, with the words of its command line."""
    out, err = StringIO(), StringIO()
    call_command(*map(str, words), stdout=out, stderr=err)
    return CommandOutput(out.getvalue(), err.getvalue())


def command_error(*words: object) -> str:
    """What a command says that can't be done."""
    with pytest.raises(CommandError) as raised:
        run(*words)
    assert raised.value.returncode == 1
    return str(raised.value)


def run_subprocess(*words: object, given: str = "", **environment: str) -> "subprocess.CompletedProcess[str]":
    """A command in a process of its own, on the tests' database: it sees only what is committed."""
    command = [sys.executable, "manage.py", *map(str, words)]
    variables = {**os.environ, "DATABASE_URL": database_url(), **environment}
    return subprocess.run(
        command, cwd=settings.ROOT, env=variables, input=given, capture_output=True, text=True, timeout=120, check=False
    )


def database_url() -> str:
    """The tests' database, which pytest has made beside the one that the environment names."""
    name: Any = connection.settings_dict["NAME"]
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}").geturl()


def file_mode(file: Path) -> int:
    """The file's permissions."""
    return file.stat().st_mode & 0o777
