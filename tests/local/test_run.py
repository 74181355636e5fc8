"""`make run` with stub processes: from the start to the last process stopped."""

import json
import os
import re
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from dev.local import processes
from dev.local.embedded import Postgres
from dev.local.run import clean, is_ready
from tests.local.runner import STUBS, Run, descendants, eventually

StartRun = Callable[..., Run]


def stop_order(run: Run) -> list[str]:
    """Return the names of the processes in the order in which they were stopped."""
    return [line.split()[0] for line in run.log.splitlines() if line.endswith("| stopping")]


def test_ctrl_c_stops_web_worker_and_servers_and_leaves_no_process_behind(start_run: StartRun) -> None:
    run = start_run(stubs={**STUBS, "worker": "has a child"}, own_servers=True).wait_until_up()
    assert eventually(lambda: run.log.count("| works") == 1)

    code = run.send(signal.SIGINT)

    assert (code, run.survivors()) == (0, [])
    assert stop_order(run) == ["web", "worker"]
    assert "Traceback" not in run.log


def test_the_start_says_how_long_each_of_its_phases_took(start_run: StartRun) -> None:
    run = start_run().wait_until_up()

    [line] = [line for line in run.log.splitlines() if line.startswith("Started in")]
    assert re.sub(r"\d+\.\d", "0.0", line) == "Started in 0.0 s: servers 0.0, migrate 0.0, demo 0.0, web 0.0"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_termination_signals_stop_everything_as_well(start_run: StartRun, number: signal.Signals) -> None:
    run = start_run().wait_until_up()

    code = run.send(number)

    assert (code, run.survivors()) == (0, [])


@pytest.mark.parametrize("name", ["web", "worker"])
def test_a_killed_process_is_restarted_and_the_others_keep_running(start_run: StartRun, name: str) -> None:
    run = start_run().wait_until_up()
    assert eventually(lambda: run.pids().keys() == STUBS.keys())
    assert eventually(lambda: run.log.count("| works") == 1)
    before = run.pids()

    os.kill(before[name], signal.SIGKILL)

    assert eventually(lambda: run.pids().get(name, before[name]) != before[name])
    after = run.pids()
    assert f"{name} was killed by SIGKILL; restarting" in run.log.splitlines()
    assert {other: pid for other, pid in after.items() if other != name} == {
        other: pid for other, pid in before.items() if other != name
    }
    assert eventually(lambda: is_ready(run.port) and run.log.count("| works") == 1 + (name != "web"))
    restarted = psutil.Process(after[name])
    assert run.send(signal.SIGINT) == 0
    assert not processes.is_alive(restarted)
    assert stop_order(run) == ["web", "worker"]


def test_what_a_killed_process_has_started_is_stopped_before_its_restart(start_run: StartRun) -> None:
    run = start_run(stubs={**STUBS, "worker": "has a child"}).wait_until_up()
    worker = run.pids()["worker"]
    assert eventually(lambda: bool(descendants(worker)))
    [child] = descendants(worker)

    os.kill(worker, signal.SIGKILL)

    assert eventually(lambda: "worker was killed by SIGKILL; restarting" in run.log)
    assert eventually(lambda: not processes.is_alive(child))
    assert run.process.poll() is None


def test_a_process_that_exits_three_times_in_30_seconds_ends_the_run_with_the_reason(start_run: StartRun) -> None:
    run = start_run(stubs={**STUBS, "worker": "fails on SIGUSR1"}).wait_until_up()

    for times in (1, 2, 3):
        assert eventually(lambda times=times: run.log.count("| ready") == times)
        os.kill(run.pids()["worker"], signal.SIGUSR1)

    assert run.exit_code() == 1
    assert run.log.count("worker stopped with exit code 3; restarting") == 2
    assert run.log.splitlines()[-1] == (
        "worker stopped with exit code 3, for the third time in 30 seconds; everything was stopped"
    )
    assert run.survivors() == []


def test_a_process_that_fails_at_once_stops_the_start(start_run: StartRun) -> None:
    run = start_run(stubs={"web": "fails", "worker": "works"})

    assert run.exit_code() == 1
    assert run.log.splitlines()[-1] == "web stopped with exit code 3; everything was stopped"


def test_the_output_of_a_failed_migration_is_shown(start_run: StartRun) -> None:
    run = start_run(stubs={**STUBS, "migrate": "print('the reason'); raise SystemExit(1)"})

    assert run.exit_code() == 1
    assert run.log.splitlines()[-2:] == ["the reason", "migrate stopped with exit code 1; everything was stopped"]


def test_a_process_that_ignores_sigterm_is_killed(start_run: StartRun) -> None:
    run = start_run(stubs={**STUBS, "worker": "ignores SIGTERM"}).wait_until_up()

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
    stubs = {"web": "serves", "worker": "ignores SIGTERM", "another": "has a child"}
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


def test_the_banner_says_where_the_data_is_and_clean_removes_it(start_run: StartRun, tmp_path: Path) -> None:
    run = start_run(own_servers=True).wait_until_up()
    run.send(signal.SIGINT)
    data = tmp_path / ".data"
    cluster = Postgres(data / "postgres").cluster
    assert (cluster / "PG_VERSION").exists()

    clean(tmp_path)

    place = f"the data stays in {data}"
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root, so root's data lies elsewhere
        assert data not in cluster.parents
        place += f",\n  PostgreSQL's in {cluster.parent} (it refuses to run as root)"
    assert f"{place}\n" in run.log
    assert not data.exists()
    assert not cluster.parent.exists()


def test_with_a_database_of_ones_own_the_banner_names_no_other_place(start_run: StartRun, tmp_path: Path) -> None:
    run = start_run().wait_until_up()

    assert f"the data stays in {tmp_path / '.data'}\n" in run.log
    assert "PostgreSQL's" not in run.log


def test_clean_removes_the_database_of_a_data_directory_that_was_deleted_by_hand(
    start_run: StartRun, tmp_path: Path
) -> None:
    start_run(own_servers=True).wait_until_up().send(signal.SIGINT)
    cluster = Postgres(tmp_path / ".data" / "postgres").cluster
    shutil.rmtree(tmp_path / ".data")
    # PostgreSQL refuses to run as root, whose data is therefore outside of `.data`.
    assert cluster.exists() == (os.geteuid() == 0)

    clean(tmp_path)

    assert not cluster.parent.exists()
    assert not (tmp_path / ".data").exists()
