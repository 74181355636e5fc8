"""Tests in several processes (pytest-xdist): how many, with which servers, and what runs when.

`make test` runs one process more than there are cores, because many tests wait. Each has a PostgreSQL and a Redis of
its own. A file's tests stay together, and in their order. Files that are named, and what `-k` selects, run in a single
process, where a debugger works; `-n 0` runs everything in one, and `-n 3` in three.
"""

import fcntl
import os
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.test.utils import setup_databases, teardown_databases
from pytest_django import DjangoDbBlocker
from xdist.scheduler import LoadFileScheduling

from pipeline_backend.local import throwaway

ROOT = Path(__file__).resolve().parents[1]
MOST = 6
LOCKS = "TEST_LOCKS"  # the folder of the files by which processes agree on who runs alone

# Folders whose files stay in one process. Tests that kill and stop the service's processes run one after another; they
# mostly wait, so the other tests run beside them. The demo's tests share what is loaded once.
TOGETHER = ["tests/faults", "tests/local", "tests/commands/demo"]
# What takes longest is begun first.
FIRST = ["tests/faults", "tests/hostile/test_tenant_walk.py", "tests/hostile/test_second_wall.py"]
# These measure throughput, delays or memory, or put the whole service under load: they run at the end, and no other
# test runs meanwhile.
ALONE = [
    "tests/faults/test_fairness.py",
    "tests/faults/test_many_at_once.py",
    "tests/faults/test_memory.py",
    "tests/faults/test_soak.py",
    "tests/faults/test_throughput.py",
]


# --- how many ---------------------------------------------------------------------------------------------------------


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Decide for `-n auto`: no process beside this one for few tests, or if somebody wants to look into one."""
    option = config.option
    files = {argument.split("::")[0] for argument in config.args}
    few = option.keyword or option.markexpr or option.lf or all(Path(file).is_file() for file in files)
    looks = option.capture == "no" or option.trace or option.collectonly
    if few or looks or "DATABASE_URL" not in started():
        return 0
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None  # xdist reads it
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MOST - 1) + 1


# --- with which servers -----------------------------------------------------------------------------------------------

RUNNING = pytest.StashKey[ExitStack]()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    """Give each process servers of its own.

    A database of its own on one PostgreSQL would not do: the feed of events waits for the open transactions of the
    whole server, roles belong to all of it, and one test makes it crash.
    """
    if "DATABASE_URL" not in started():
        raise pytest.UsageError("With a DATABASE_URL that is given, the tests run in one process: -n 0")
    config.stash[RUNNING] = running = ExitStack()
    folder = running.enter_context(tempfile.TemporaryDirectory(prefix="locks-", dir=os.environ.get(throwaway.FOLDER)))
    for number, spec in enumerate(specs):
        spec.env[LOCKS] = folder
        if number:
            spec.env |= further_servers(number, running)


def further_servers(number: int, running: ExitStack) -> dict[str, str]:
    """The addresses for another process; of a Redis that was given, another of its numbered databases."""
    addresses = throwaway.start_more(f"process-{number}", ROOT, running)
    if "REDIS_URL" not in started():
        given = urlsplit(os.environ["REDIS_URL"])
        addresses["REDIS_URL"] = given._replace(path=f"/{int(given.path.strip('/') or 0) + number}").geturl()
    return addresses


def started() -> list[str]:
    """The variables of the servers that `make test` has started; the others were given."""
    return os.environ.get(throwaway.STARTED, "").split()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the further servers."""
    if RUNNING in config.stash:
        config.stash[RUNNING].close()


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """Create the tests' database as a copy of the migrated one, if there is one; its migrations are checked all the same.

    pytest-django's own fixture creates none if all tests of a run reach the database by fixtures of other names.
    """
    connection.settings_dict["TEST"]["TEMPLATE"] = os.environ.get(throwaway.TEMPLATE)
    with django_db_blocker.unblock():
        created = setup_databases(verbosity=0, interactive=False, serialized_aliases=[])
    yield
    with django_db_blocker.unblock():
        teardown_databases(created, verbosity=0)


# --- what runs when ---------------------------------------------------------------------------------------------------


class Files(LoadFileScheduling):
    """Hands out a file's tests together, or those of a folder that stays together."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def scope_of(nodeid: str) -> str:
    """The tests that one process runs in a row: those of a file or a folder."""
    file = nodeid.split("::")[0]
    return next((folder for folder in TOGETHER if file.startswith(f"{folder}/") and file not in ALONE), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Files | None:
    """Hand them out in the order in which the processes have put them."""
    if config.option.dist != "loadfile":
        return None
    config.option.loadscopereorder = False
    return Files(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put what takes long first and what runs alone last; of the others, files with many tests first."""
    if not hasattr(config, "workerinput"):
        return
    sizes = Counter(scope_of(item.nodeid) for item in items)
    ranks = {scope: number for number, scope in enumerate(FIRST)} | dict.fromkeys(ALONE, len(FIRST) + 1)
    scopes = sorted(sizes, key=lambda scope: (ranks.get(scope, len(FIRST)), -sizes[scope], scope))
    places = {scope: place for place, scope in enumerate(scopes)}
    items.sort(key=lambda item: places[scope_of(item.nodeid)])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run a test beside those of the other processes, or alone."""
    if LOCKS not in os.environ:
        return (yield)
    with turn(Path(os.environ[LOCKS]), alone=item.nodeid.split("::")[0] in ALONE):
        return (yield)


@contextmanager
def turn(locks: Path, *, alone: bool) -> Iterator[None]:
    """Wait until the others allow it. Whoever wants to be alone holds the queue, so that those who come later wait behind."""
    with (locks / "running").open("a") as running, (locks / "queue").open("a") as queue:
        fcntl.flock(queue, fcntl.LOCK_EX)
        fcntl.flock(running, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(queue, fcntl.LOCK_UN)
        yield
