"""The embedded PostgreSQL and Redis."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from dev.local import StartupError, as_root, processes
from dev.local.embedded import Postgres, Redis
from tests.local.runner import descendants, eventually

only_as_root = pytest.mark.skipif(os.geteuid() != 0, reason="PostgreSQL treats only root differently")


def test_servers_listen_on_localhost_only_and_leave_no_process_behind(postgres: Postgres, valkey: Redis) -> None:
    urls = postgres.start(), valkey.start()

    with psycopg.connect(urls[0]) as connection:
        assert connection.execute("SELECT lower('ÄÖ'), uuidv7() IS NOT NULL").fetchone() == ("äö", True)
    assert redis.Redis.from_url(urls[1]).ping()
    assert listening_addresses(postgres, valkey) == {"127.0.0.1"}

    servers = [process for process in (postgres.process, valkey.process) if process]
    running = [psutil.Process(process.pid) for process in servers]
    running += [child for process in servers for child in descendants(process.pid)]
    postgres.stop()
    valkey.stop()
    assert eventually(lambda: not any(map(processes.is_alive, running)))


def test_a_password_is_required_and_appears_on_no_command_line(postgres: Postgres, valkey: Redis) -> None:
    urls = postgres.start(), valkey.start()

    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(urls[0].replace(postgres.password, "wrong"))
    with pytest.raises(redis.AuthenticationError):
        redis.Redis.from_url(urls[1].replace(valkey.password, "wrong")).ping()
    command_lines = str([process.info["cmdline"] for process in psutil.process_iter(["cmdline"])])
    assert postgres.password not in command_lines
    assert valkey.password not in command_lines
    password_files = [path for server in (postgres, valkey) for path in server.directory.rglob("password")]
    assert {path.stat().st_mode & 0o077 for path in password_files} == {0}


def test_data_survives_a_restart(cluster_dir: Path, valkey: Redis) -> None:
    postgres = Postgres(cluster_dir)
    with psycopg.connect(postgres.start()) as connection:
        connection.execute("CREATE TABLE stored AS SELECT 42 AS number")
    redis.Redis.from_url(valkey.start()).set("stored", "42")
    postgres.stop()
    valkey.stop()

    with psycopg.connect(postgres.start()) as connection:
        assert connection.execute("SELECT number FROM stored").fetchone() == (42,)
    assert redis.Redis.from_url(valkey.start()).get("stored") == b"42"
    postgres.stop()


def test_a_leftover_server_is_stopped_before_the_next_one_starts_on_its_data(postgres: Postgres, valkey: Redis) -> None:
    for server in (postgres, valkey):
        server.start()
        leftover = server.process
        assert leftover

        next_server = type(server)(server.directory, ephemeral=server.ephemeral)
        next_server.start()

        assert leftover.poll() is not None
        next_server.stop()


def test_another_process_that_has_got_the_servers_old_pid_is_not_stopped(postgres: Postgres, valkey: Redis) -> None:
    with subprocess.Popen(["sleep", "600"]) as other:
        for server in (postgres, valkey):
            server.start()
            pid_file = server.pid_file.read_text()
            server.stop()
            server.pid_file.write_text("\n".join([str(other.pid), *pid_file.split("\n")[1:]]))

            server.start()

            assert other.poll() is None
        other.kill()


def test_a_failed_start_reports_the_reason(postgres: Postgres) -> None:
    postgres.start()
    postgres.stop()
    version = (postgres.cluster / "PG_VERSION").read_text()
    (postgres.cluster / "PG_VERSION").write_text("9.6\n")

    with pytest.raises(StartupError, match=r"initialized by PostgreSQL version 9\.6"):
        postgres.start()

    (postgres.cluster / "PG_VERSION").write_text(version)


@only_as_root
def test_started_by_root_no_directory_changes_its_mode(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    postgres = Postgres(home / "checkout" / ".data" / "postgres", ephemeral=True)
    paths = [*postgres.directory.parents, *Path(sys.modules["psycopg"].__file__ or "").parents, as_root.BASE_DIR.parent]
    modes = {path: path.stat().st_mode for path in paths if path.exists()}

    postgres.start()
    postgres.stop()

    assert {path: path.stat().st_mode for path in modes} == modes
    assert str(postgres.data_dir) in (postgres.directory / "README").read_text()
    postgres.remove()
    assert not postgres.data_dir.exists()


@only_as_root
@pytest.mark.parametrize("kind", ["a symbolic link", "another user's directory", "a world-writable directory"])
def test_started_by_root_a_planted_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    planted, elsewhere = tmp_path / "planted", tmp_path / "elsewhere"
    elsewhere.mkdir()
    if kind == "a symbolic link":
        planted.symlink_to(elsewhere)
    else:
        planted.mkdir()
    if kind == "another user's directory":
        os.chown(planted, 65534, 65534)
    if kind == "a world-writable directory":
        planted.chmod(0o777)
    monkeypatch.setattr("dev.local.as_root.BASE_DIR", planted)

    with pytest.raises(StartupError, match="is not a directory that only root can write to"):
        Postgres(tmp_path / "postgres").start()

    assert list(elsewhere.iterdir()) == []


def listening_addresses(*servers: Postgres | Redis) -> set[str]:
    """Return the IP addresses on which the servers listen."""
    connections = [
        connection
        for server in servers
        if server.process
        for connection in psutil.Process(server.process.pid).net_connections()
    ]
    return {connection.laddr.ip for connection in connections if connection.status == psutil.CONN_LISTEN}
