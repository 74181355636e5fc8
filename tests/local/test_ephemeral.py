"""`make test` and `with-servers`: servers that exist for one command."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dev.local import processes
from tests.local.runner import descendants, eventually

# Most tests start only Redis: starting a PostgreSQL for each would take long.
EXISTING_DATABASE = {"DATABASE_URL": os.environ["DATABASE_URL"]}
CONNECT = """
import os, psycopg, redis, sys
psycopg.connect(os.environ["DATABASE_URL"]).close()
redis.Redis.from_url(os.environ["REDIS_URL"]).ping()
"""


def with_servers(temporary_dir: Path, code: str, **environment: str) -> "subprocess.Popen[str]":
    """Start a Python program that connects to both servers, then runs `code`."""
    variables = {**os.environ, "DATABASE_URL": "", "REDIS_URL": "", "TMPDIR": str(temporary_dir), **environment}
    command = [sys.executable, "-m", "dev.local", "with-servers", sys.executable, "-c", CONNECT + code]
    return subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)


def test_the_exit_code_is_that_of_the_command_and_nothing_is_left(tmp_path: Path) -> None:
    with with_servers(tmp_path, "sys.exit(7)", **EXISTING_DATABASE) as process:
        exit_code = process.wait(60)

    assert exit_code == 7
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_command_and_everything_is_removed(tmp_path: Path, number: signal.Signals) -> None:
    code = "import signal, time; signal.signal(%d, lambda *_: sys.exit(9)); print('ready', flush=True); time.sleep(60)"
    with with_servers(tmp_path, code % number, **EXISTING_DATABASE) as process:
        assert process.stdout
        process.stdout.readline()
        children = descendants(process.pid)

        process.send_signal(number)

        assert process.wait(60) == 9
    assert [child for child in children if processes.is_alive(child)] == []
    assert list(tmp_path.iterdir()) == []


def test_servers_and_files_of_a_killed_run_are_removed_by_the_next_run(tmp_path: Path) -> None:
    with with_servers(tmp_path, "import time; print('ready', flush=True); time.sleep(60)") as process:
        assert process.stdout
        process.stdout.readline()
        children = descendants(process.pid)
        process.kill()
    assert list(tmp_path.iterdir()) != []

    with with_servers(tmp_path, "", **EXISTING_DATABASE) as process:
        assert process.wait(60) == 0

    assert list(tmp_path.iterdir()) == []
    assert eventually(lambda: not any(map(processes.is_alive, children)))
