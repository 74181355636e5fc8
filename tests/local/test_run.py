"""`make run` with stand-ins for its parts: from the start to the last process stopped."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.local.running import PARTS, Run, eventually

StartRun = Callable[..., Run]


def test_ctrl_c_stops_web_beat_worker_and_servers_and_leaves_no_process_behind(start_run: StartRun) -> None:
    run = start_run(parts={**PARTS, "worker": "has a child"}, own_servers=True).is_up()

    code = run.send(signal.SIGINT)

    assert (code, run.survivors()) == (0, [])
    goodbyes = [line.split()[0] for line in run.log.splitlines() if "says goodbye" in line]
    assert goodbyes == ["web", "beat", "worker"]
    assert "Traceback" not in run.log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_requests_to_end_are_obeyed_too(start_run: StartRun, number: signal.Signals) -> None:
    run = start_run().is_up()

    code = run.send(number)

    assert (code, run.survivors()) == (0, [])


def test_a_crashed_part_stops_the_rest_and_is_named_in_the_last_line(start_run: StartRun, tmp_path: Path) -> None:
    run = start_run(parts={**PARTS, "worker": "fails when told"}).is_up()
    assert eventually(lambda: "listening" in run.log)
    noted = json.loads((tmp_path / ".data" / "run.json").read_text())

    os.kill(next(pid for name, pid, _ in noted["parts"] if name == "worker"), signal.SIGUSR1)

    assert run.code() == 1
    assert run.log.splitlines()[-1] == "worker stopped with exit code 3; everything was stopped"
    assert run.survivors() == []


def test_a_part_that_fails_at_once_stops_the_start(start_run: StartRun) -> None:
    run = start_run(parts={"web": "works", "worker": "fails"})

    assert run.code() == 1

    assert run.log.splitlines()[-1] == "worker stopped with exit code 3; everything was stopped"


def test_a_migration_that_fails_shows_what_it_said(start_run: StartRun) -> None:
    run = start_run(parts={**PARTS, "migrate": "print('the reason'); raise SystemExit(1)"})

    assert run.code() == 1

    assert run.log.splitlines()[-2:] == ["the reason", "migrate stopped with exit code 1; everything was stopped"]


def test_a_part_that_does_not_listen_is_killed(start_run: StartRun) -> None:
    run = start_run(parts={**PARTS, "beat": "is deaf"}).is_up()

    code = run.send(signal.SIGTERM)

    assert (code, run.survivors()) == (0, [])


def test_secrets_are_made_once_and_for_the_owner_alone(start_run: StartRun, tmp_path: Path) -> None:
    start_run().is_up().send(signal.SIGINT)
    first = (tmp_path / ".data" / "secrets.json").read_text()

    start_run().is_up().send(signal.SIGINT)

    assert (tmp_path / ".data" / "secrets.json").read_text() == first
    assert set(json.loads(first)) == {"SECRET_KEY", "FIELD_ENCRYPTION_KEYS"}
    assert (tmp_path / ".data" / "secrets.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / ".data").stat().st_mode & 0o777 == 0o700


def test_a_killed_run_is_cleared_away_by_the_next_one(start_run: StartRun) -> None:
    killed = start_run(parts={"web": "serves", "worker": "is deaf", "beat": "has a child"}, own_servers=True).is_up()
    killed.send(signal.SIGKILL)

    run = start_run(own_servers=True).is_up()

    assert killed.survivors() == []
    assert run.send(signal.SIGINT) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of their parent's death")
def test_a_killed_run_takes_its_parts_along(start_run: StartRun) -> None:
    killed = start_run(own_servers=True, DATABASE_URL=os.environ["DATABASE_URL"]).is_up()

    killed.send(signal.SIGKILL)

    assert eventually(lambda: not killed.survivors())
