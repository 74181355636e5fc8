"""`make test`: servers for one command."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline_backend.local import processes
from tests.local.running import descendants, eventually

GIVEN = {"DATABASE_URL": os.environ["DATABASE_URL"]}  # a PostgreSQL for every test would take long
ASK = """
import os, psycopg, redis, sys
psycopg.connect(os.environ["DATABASE_URL"]).close()
redis.Redis.from_url(os.environ["REDIS_URL"]).ping()
"""


def with_servers(folder: Path, code: str, **given: str) -> "subprocess.Popen[str]":
    given = {"DATABASE_URL": "", "REDIS_URL": "", "TMPDIR": str(folder), **given}
    words = [sys.executable, "-m", "pipeline_backend.local", "with-servers", sys.executable, "-c", ASK + code]
    return subprocess.Popen(
        words, env={**os.environ, **given}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )


def test_the_exit_code_is_the_commands_own_and_nothing_is_left(tmp_path: Path) -> None:
    with with_servers(tmp_path, "sys.exit(7)", **GIVEN) as process:
        code = process.wait(20)

    assert code == 7
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_command_and_everything_is_removed(tmp_path: Path, number: signal.Signals) -> None:
    code = "import signal, time; signal.signal(%d, lambda *_: sys.exit(9)); print('ready', flush=True); time.sleep(60)"
    with with_servers(tmp_path, code % number, **GIVEN) as process:
        assert process.stdout
        process.stdout.readline()
        family = descendants(process.pid)

        process.send_signal(number)

        assert process.wait(20) == 9
    assert [pid for pid in family if processes.started(pid)] == []
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_is_swept_by_the_next_one(tmp_path: Path) -> None:
    with with_servers(tmp_path, "import time; print('ready', flush=True); time.sleep(60)") as process:
        assert process.stdout
        process.stdout.readline()
        family = descendants(process.pid)
        process.kill()
    assert list(tmp_path.iterdir()) != []

    with with_servers(tmp_path, "", **GIVEN) as process:
        assert process.wait(20) == 0

    assert list(tmp_path.iterdir()) == []
    assert eventually(lambda: not any(processes.started(pid) for pid in family))
