"""The two servers alone."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from pipeline_backend.local import StartupError, as_root, processes
from pipeline_backend.local.embedded import Postgres, Redis
from tests.local.running import descendants, eventually


def test_both_answer_on_this_computer_alone_and_leave_no_process_behind(postgres: Postgres, valkey: Redis) -> None:
    urls = postgres.start(), valkey.start()

    with psycopg.connect(urls[0]) as connection:
        assert connection.execute("SELECT lower('ÄÖ'), uuidv7() IS NOT NULL").fetchone() == ("äö", True)
    assert redis.Redis.from_url(urls[1]).ping()
    assert listening_addresses(postgres, valkey) == {"127.0.0.1"}

    family = [process for process in (postgres.process, valkey.process) if process]
    pids = [process.pid for process in family] + [pid for process in family for pid in descendants(process.pid)]
    postgres.stop()
    valkey.stop()
    assert eventually(lambda: not any(processes.started(pid) for pid in pids))


def test_a_password_is_needed_and_shows_on_no_command_line(postgres: Postgres, valkey: Redis) -> None:
    urls = postgres.start(), valkey.start()

    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(urls[0].replace(postgres.password, "wrong"))
    with pytest.raises(redis.AuthenticationError):
        redis.Redis.from_url(urls[1].replace(valkey.password, "wrong")).ping()
    everything = "".join(processes.command_line(pid) for pid in psutil.pids())
    assert postgres.password not in everything
    assert valkey.password not in everything
    assert {
        path.stat().st_mode & 0o077 for server in (postgres, valkey) for path in server.folder.rglob("password")
    } == {0}


def test_a_restart_keeps_the_data(cluster: Path, valkey: Redis) -> None:
    postgres = Postgres(cluster)
    with psycopg.connect(postgres.start()) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    redis.Redis.from_url(valkey.start()).set("kept", "42")
    postgres.stop()
    valkey.stop()

    with psycopg.connect(postgres.start()) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
    assert redis.Redis.from_url(valkey.start()).get("kept") == b"42"
    postgres.stop()


def test_a_leftover_is_stopped_before_the_next_one_starts_on_its_data(postgres: Postgres, valkey: Redis) -> None:
    for server in (postgres, valkey):
        server.start()
        leftover = server.process
        assert leftover

        next_one = type(server)(server.folder, throwaway=server.throwaway)
        next_one.start()

        assert leftover.poll() is not None
        next_one.stop()


def test_a_stranger_who_got_the_noted_pid_is_left_alone(postgres: Postgres, valkey: Redis) -> None:
    with subprocess.Popen(["sleep", "600"]) as stranger:
        for server in (postgres, valkey):
            server.start()
            note = server.pid_file.read_text()
            server.stop()
            server.pid_file.write_text("\n".join([str(stranger.pid), *note.split("\n")[1:]]))

            server.start()

            assert stranger.poll() is None
        stranger.kill()


def test_a_start_that_fails_says_why(postgres: Postgres) -> None:
    postgres.start()
    postgres.stop()
    version = (postgres.data / "PG_VERSION").read_text()
    (postgres.data / "PG_VERSION").write_text("9.6\n")

    with pytest.raises(StartupError, match=r"initialized by PostgreSQL version 9\.6"):
        postgres.start()
    (postgres.data / "PG_VERSION").write_text(version)


@pytest.mark.skipif(os.geteuid() != 0, reason="PostgreSQL makes a difference for root alone")
def test_started_by_root_no_folder_changes_its_mode(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    postgres = Postgres(home / "checkout" / ".data" / "postgres", throwaway=True)
    folders = [*postgres.folder.parents, *Path(sys.modules["psycopg"].__file__ or "").parents, as_root.FOLDER.parent]
    before = {folder: folder.stat().st_mode for folder in folders if folder.exists()}

    postgres.start()
    postgres.stop()

    assert {folder: folder.stat().st_mode for folder in before} == before
    assert str(postgres.place) in (postgres.folder / "README").read_text()
    postgres.remove()
    assert not postgres.place.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="PostgreSQL makes a difference for root alone")
@pytest.mark.parametrize("plant", ["a link", "a stranger's folder", "everybody's folder"])
def test_started_by_root_a_planted_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: str
) -> None:
    planted = tmp_path / "planted"
    (tmp_path / "elsewhere").mkdir()
    planted.symlink_to(tmp_path / "elsewhere") if plant == "a link" else planted.mkdir()
    if plant == "a stranger's folder":
        os.chown(planted, 65534, 65534)
    if plant == "everybody's folder":
        planted.chmod(0o777)
    monkeypatch.setattr("pipeline_backend.local.as_root.FOLDER", planted)

    with pytest.raises(StartupError, match="not a folder of root's alone"):
        Postgres(tmp_path / "postgres").start()

    assert list((tmp_path / "elsewhere").iterdir()) == []


def listening_addresses(*servers: Postgres | Redis) -> set[str]:
    connections = [
        line for server in servers if server.process for line in psutil.Process(server.process.pid).net_connections()
    ]
    return {line.laddr.ip for line in connections if line.status == psutil.CONN_LISTEN}
