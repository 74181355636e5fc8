"""manage.py uses the instance of its checkout, and only if the environment has no settings."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dev.local import attach, environment, files
from dev.local.embedded import Postgres, Redis
from tests.local.runner import Run, eventually

PROJECT = Path(__file__).resolve().parents[2]
# Prints the public address, and fails if the database or Redis doesn't answer.
PROBE = """
import redis
from django.conf import settings
from django.db import connection
connection.ensure_connection()
redis.Redis.from_url(settings.REDIS_URL).ping()
print(settings.BASE_URL)
"""
StartRun = Callable[..., Run]
Manage = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def manage(tmp_path: Path) -> Manage:
    """Run manage.py in a checkout of its own, without settings in the environment."""
    for path in PROJECT.iterdir():
        if (path / "__init__.py").exists():
            (tmp_path / path.name).symlink_to(path)
    shutil.copy(PROJECT / "manage.py", tmp_path)
    unset = {*attach.REQUIRED, "BASE_URL", "EMAIL_URL", "ALLOWED_HOSTS"}
    inherited = {name: value for name, value in os.environ.items() if name not in unset}

    def run(*arguments: str, options: tuple[str, ...] = (), **variables: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, *options, "manage.py", *(arguments or ("shell", "-v0", "-c", PROBE))],
            cwd=tmp_path,
            env={**inherited, **variables},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def test_a_command_uses_the_running_instance_and_says_so(start_run: StartRun, manage: Manage, tmp_path: Path) -> None:
    run = start_run(BASE_URL="").wait_until_up()

    result = manage()

    assert (result.returncode, result.stdout) == (0, f"http://127.0.0.1:{run.port}\n"), result.stderr
    assert result.stderr == f"Using the local instance in {tmp_path / '.data'} (running)\n"


def test_only_the_owner_can_read_the_settings_which_are_removed_at_the_end(start_run: StartRun, tmp_path: Path) -> None:
    run = start_run().wait_until_up()
    stored = tmp_path / ".data" / environment.RUNNING
    mode = stored.stat().st_mode & 0o777

    run.send(signal.SIGINT)

    assert mode == 0o600
    assert not stored.exists()


def test_a_command_starts_the_servers_of_a_stopped_instance_and_stops_them(
    start_run: StartRun, manage: Manage, tmp_path: Path
) -> None:
    start_run(own_servers=True).wait_until_up().send(signal.SIGINT)
    data = tmp_path / ".data"

    result = manage(PORT="8123")

    assert (result.returncode, result.stdout) == (0, "http://127.0.0.1:8123\n"), result.stderr
    assert result.stderr == (
        f"Using the local instance in {data} (stopped, its servers were started for this command)\n"
    )
    assert Postgres(data / "postgres").leftovers() == Redis(data / "redis").leftovers() == []
    assert (data / "secrets.json").stat().st_mode & 0o777 == 0o600


def test_a_command_uses_an_instance_after_its_run_was_killed(start_run: StartRun, manage: Manage) -> None:
    run = start_run(own_servers=True).wait_until_up()
    run.send(signal.SIGKILL)

    result = manage()

    assert result.returncode == 0, result.stderr
    assert eventually(lambda: not run.survivors())


@pytest.mark.parametrize("variable", attach.REQUIRED)
def test_settings_in_the_environment_leave_the_instance_alone(
    start_run: StartRun, manage: Manage, variable: str
) -> None:
    start_run().wait_until_up()

    result = manage(**{variable: os.environ[variable]})

    assert result.returncode == 1
    assert result.stderr.startswith("Invalid settings: ")
    assert result.stderr.count("\n") == 1


def test_without_an_instance_a_command_names_the_missing_setting(manage: Manage) -> None:
    result = manage()

    assert result.returncode == 1
    assert result.stderr == "Invalid settings: Set the SECRET_KEY environment variable\n"


def test_while_the_instance_starts_a_command_says_to_try_again(
    start_run: StartRun, manage: Manage, tmp_path: Path
) -> None:
    start_run().wait_until_up().send(signal.SIGINT)
    lock = files.lock(tmp_path / ".data" / "lock")
    assert lock is not None

    result = manage()

    os.close(lock)
    assert result.returncode == 1
    assert result.stderr == ("The local instance is just starting or stopping, or another command uses it; try again\n")


def test_a_stopped_instance_with_servers_of_ones_own_is_explained(start_run: StartRun, manage: Manage) -> None:
    start_run().wait_until_up().send(signal.SIGINT)

    result = manage()

    assert result.returncode == 1
    assert result.stderr == ("The local instance uses other servers; start it with make run, then repeat the command\n")


def test_a_python_without_django_names_the_right_one(manage: Manage) -> None:
    result = manage("check", options=("-I", "-S"))

    assert result.returncode == 1
    assert result.stderr == (
        f"{sys.executable} has no Django; use .venv/bin/python manage.py (make run creates .venv)\n"
    )
