"""`make run` with stub processes: from the start to the last process stopped."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.local.runner import STUBS, Run, eventually

StartRun = Callable[..., Run]


def test_ctrl_c_stops_web_beat_worker_and_servers_and_leaves_no_process_behind(start_run: StartRun) -> None:
    run = start_run(stubs={**STUBS, "worker": "has a child"}, own_servers=True).wait_until_up()

    code = run.send(signal.SIGINT)

    assert (code, run.survivors()) == (0, [])
    order = [line.split()[0] for line in run.log.splitlines() if line.endswith("| stopping")]
    assert order == ["web", "beat", "worker"]
    assert "Traceback" not in run.log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_termination_signals_stop_everything_as_well(start_run: StartRun, number: signal.Signals) -> None:
    run = start_run().wait_until_up()

    code = run.send(number)

    assert (code, run.survivors()) == (0, [])


def test_a_crashed_process_stops_the_rest_and_is_named_in_the_last_line(start_run: StartRun, tmp_path: Path) -> None:
    run = start_run(stubs={**STUBS, "worker": "fails on SIGUSR1"}).wait_until_up()
    assert eventually(lambda: "ready" in run.log)
    state = json.loads((tmp_path / ".data" / "run.json").read_text())

    os.kill(next(pid for name, pid, _ in state["processes"] if name == "worker"), signal.SIGUSR1)

    assert run.exit_code() == 1
    assert run.log.splitlines()[-1] == "worker stopped with exit code 3; everything was stopped"
    assert run.survivors() == []


def test_a_process_that_fails_at_once_stops_the_start(start_run: StartRun) -> None:
    run = start_run(stubs={"web": "works", "worker": "fails"})

    assert run.exit_code() == 1
    assert run.log.splitlines()[-1] == "worker stopped with exit code 3; everything was stopped"


def test_the_output_of_a_failed_migration_is_shown(start_run: StartRun) -> None:
    run = start_run(stubs={**STUBS, "migrate": "print('the reason'); raise SystemExit(1)"})

    assert run.exit_code() == 1
    assert run.log.splitlines()[-2:] == ["the reason", "migrate stopped with exit code 1; everything was stopped"]


def test_a_process_that_ignores_sigterm_is_killed(start_run: StartRun) -> None:
    run = start_run(stubs={**STUBS, "beat": "ignores SIGTERM"}).wait_until_up()

    code = run.send(signal.SIGTERM)

    assert (code, run.survivors()) == (0, [])


def test_secrets_are_generated_once_and_readable_by_the_owner_only(start_run: StartRun, tmp_path: Path) -> None:
    start_run().wait_until_up().send(signal.SIGINT)
    first = (tmp_path / ".data" / "secrets.json").read_text()

    start_run().wait_until_up().send(signal.SIGINT)

    assert (tmp_path / ".data" / "secrets.json").read_text() == first
    assert set(json.loads(first)) == {"SECRET_KEY", "FIELD_ENCRYPTION_KEYS"}
    assert (tmp_path / ".data" / "secrets.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / ".data").stat().st_mode & 0o777 == 0o700


def test_processes_of_a_killed_run_are_stopped_by_the_next_run(start_run: StartRun) -> None:
    stubs = {"web": "serves", "worker": "ignores SIGTERM", "beat": "has a child"}
    killed = start_run(stubs=stubs, own_servers=True).wait_until_up()
    killed.send(signal.SIGKILL)

    run = start_run(own_servers=True).wait_until_up()

    assert killed.survivors() == []
    assert run.send(signal.SIGINT) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals children when their parent dies")
def test_processes_end_when_their_run_is_killed(start_run: StartRun) -> None:
    killed = start_run(own_servers=True, DATABASE_URL=os.environ["DATABASE_URL"]).wait_until_up()

    killed.send(signal.SIGKILL)

    assert eventually(lambda: not killed.survivors())
