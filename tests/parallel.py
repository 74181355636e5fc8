"""Running tests in several processes (pytest-xdist): how many, with which servers, and in which order.

`make test` starts three processes more than there are cores, because many tests wait. Each process has its own
PostgreSQL and Redis. The tests of one file stay in one process and in their order, except those of `SPLIT`. Named files
and what `-k` selects run in a single process, where a debugger works; `-n 0` runs everything in one process, `-n 3` in
three.
"""

import fcntl
import gc
import os
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection
from django.test import TransactionTestCase
from django.test.utils import setup_databases, teardown_databases
from pytest_django import DjangoDbBlocker
from xdist.scheduler import LoadFileScheduling

from dev.local import ephemeral
from dev.local.template import TEST_DATABASE
from tests.databases import empty_tables

ROOT = Path(__file__).resolve().parents[1]
MAX_PROCESSES = 6
LOCK_FOLDER = "TEST_LOCKS"  # environment variable: where the lock files for tests that run alone are

# Folders whose files stay in one process. Tests that kill and stop service processes run one after another; they
# mostly wait, so other tests run at the same time. The demo's tests share data that is loaded once; the browser's share
# a running service and a browser.
KEEP_TOGETHER = ["tests/browser", "tests/faults", "tests/local", "tests/commands/demo"]
# Files whose tests may run in any process, because each of them takes long.
SPLIT = ["tests/mirror/test_copies.py", "tests/faults/test_unbounded_responses.py"]
# The longest tests start first.
RUN_FIRST = [
    "tests/faults",
    "tests/browser",
    "tests/docs/test_pages.py",
    "tests/deployment/test_without_containers.py",
    "tests/hostile/test_tenant_walk.py",
    "tests/hostile/test_admin_parameters.py",
    "tests/roles/test_matrix.py",
    "tests/pooler/test_suite.py",
    *SPLIT,
    # Few tests, each of which takes long: the other processes would wait for them at the end.
    "tests/imports/test_many_rows.py",
    "tests/upgrade/test_from_0_2_0.py",
    "tests/commands/test_processes.py",
    "tests/deployment/test_start.py",
    "tests/scaling/test_machines.py",
    "tests/commands/demo",
    "tests/hostile/test_floods.py",
    "tests/hostile/test_tenant_walk_api.py",
    "tests/mirror/test_concurrent_copies.py",
    "tests/pooler/test_service.py",
    "tests/export/test_memory.py",
    "tests/metrics/test_prometheus.py",
    "tests/contract/test_conflicting_changes.py",
    "tests/hostile/test_long_texts.py",
    "tests/hostile/test_malformed_ids.py",
    "tests/hostile/test_admin_requests.py",
    "tests/contract/test_interrupted_statements.py",
    "tests/moving/test_cells.py",
    "tests/moving/test_page.py",
    "tests/openapi/test_clients.py",
    "tests/openapi/test_linters.py",
    "tests/deployment/test_managed_database.py",
    "tests/notifications/test_calendar_entries.py",
    "tests/staff/test_weight.py",
    "tests/hostile/test_slow_pages.py",
    "tests/hostile/test_secrets.py",
]
# These measure throughput and delays. They run at the end, and no other test runs at the same time.
RUN_ALONE = [
    "tests/faults/test_concurrent_workers.py",
    "tests/faults/test_fairness.py",
    "tests/faults/test_throughput.py",
]


# --- number of processes ----------------------------------------------------------------------------------------------


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Return the number of processes for `-n auto`: none for few tests, or when someone wants to debug."""
    option = config.option
    files = {argument.split("::")[0] for argument in config.args}
    few_tests = (
        option.keyword
        or option.markexpr
        or config.getoption("lf", False)
        or all(Path(file).is_file() for file in files)
    )
    debugging = option.capture == "no" or option.trace or option.collectonly
    if few_tests or debugging or "DATABASE_URL" not in started_servers():
        return 0
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None  # xdist reads it
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores + 3, MAX_PROCESSES)


# --- servers of each process ------------------------------------------------------------------------------------------

SERVER_STACK = pytest.StashKey[ExitStack]()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    """Start servers for each process.

    One PostgreSQL with a database for each process is not enough: the events feed waits for open transactions of the
    whole server, roles belong to the whole server, and one test crashes it.
    """
    if "DATABASE_URL" not in started_servers():
        raise pytest.UsageError("With a given DATABASE_URL, the tests run in one process: -n 0")
    config.stash[SERVER_STACK] = stack = ExitStack()
    parent = os.environ.get(ephemeral.DIRECTORY)
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="locks-", dir=parent))
    for number, spec in enumerate(specs):
        spec.env[LOCK_FOLDER] = folder
        if number:  # the first process uses the servers that `make test` has started
            spec.env |= start_servers(number, stack)


def start_servers(number: int, stack: ExitStack) -> dict[str, str]:
    """Start servers for another process and return their URLs; for a given Redis, use another numbered database."""
    urls = ephemeral.start_more(f"process-{number}", ROOT, stack)
    if "REDIS_URL" not in started_servers():
        url = urlsplit(os.environ["REDIS_URL"])
        urls["REDIS_URL"] = url._replace(path=f"/{int(url.path.strip('/') or 0) + number}").geturl()
    return urls


def started_servers() -> list[str]:
    """Return the variables of the servers that `make test` started itself; the others were given."""
    return os.environ.get(ephemeral.STARTED, "").split()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the servers of the other processes."""
    if SERVER_STACK in config.stash:
        config.stash[SERVER_STACK].close()


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest,
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[None]:
    """Use the migrated database of the copied cluster, if there is one; otherwise create one and apply the migrations.

    pytest-django's own fixture creates none if all tests of a run use the database through fixtures of other names. As
    with that one, `--reuse-db` uses a database that exists, and keeps it.
    """
    keep = request.config.getoption("reuse_db")
    # On a busy machine, sixteen threads that connect at once can take longer than the service's 3 seconds, and a
    # transaction that a file's tests share can wait for longer than a minute.
    options = connection.settings_dict["OPTIONS"]
    options["connect_timeout"] = 60
    options["options"] = options["options"].replace("session_timeout=1min", "session_timeout=20min")
    if ephemeral.TEMPLATE in os.environ and not keep:
        # The cluster belongs to this process alone and is deleted at the end, so nothing has to be created or dropped.
        settings.DATABASES["default"]["NAME"] = connection.settings_dict["NAME"] = TEST_DATABASE
        yield
        return
    with django_db_blocker.unblock():
        created = setup_databases(verbosity=0, interactive=False, keepdb=keep, serialized_aliases=[])
    yield
    with django_db_blocker.unblock():
        teardown_databases(created, verbosity=0, keepdb=keep)


def _empty_tables(_case: TransactionTestCase) -> None:
    empty_tables()


# There is no hook for it. Django's own way took a third of the time of such tests.
TransactionTestCase._fixture_teardown = _empty_tables


# --- order ------------------------------------------------------------------------------------------------------------


class FileScheduling(LoadFileScheduling):
    """Assigns all tests of a file, or of a folder that stays together, to one process."""

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        super().add_node_collection(node, number_duplicates(collection))

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def number_duplicates(nodeids: Sequence[str]) -> list[str]:
    """Return the ids, with a number added where several tests have the same one.

    xdist runs only the first test of each id, and schemathesis gives the tests of all operations one id.
    """
    counts: Counter[str] = Counter()
    numbered = []
    for nodeid in nodeids:
        counts[nodeid] += 1
        numbered.append(nodeid if counts[nodeid] == 1 else f"{nodeid}[{counts[nodeid]}]")
    return numbered


def scope_of(nodeid: str) -> str:
    """Return the file or folder whose tests run in one process; the test itself if it may run in any."""
    file = nodeid.split("::")[0]
    if file in SPLIT:
        return nodeid
    return next((folder for folder in KEEP_TOGETHER if file.startswith(f"{folder}/") and file not in RUN_ALONE), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling | None:
    """Schedule tests in the order of `pytest_collection_modifyitems`."""
    if config.option.dist != "loadfile":
        return None
    config.option.loadscopereorder = False
    return FileScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort long tests to the start and tests that run alone to the end; in between, files with many tests first."""
    if not hasattr(config, "workerinput"):
        return
    sizes = Counter(scope_of(item.nodeid) for item in items)
    ranks = {scope: number for number, scope in enumerate(RUN_FIRST)} | dict.fromkeys(RUN_ALONE, len(RUN_FIRST) + 1)
    scopes = sorted(sizes, key=lambda scope: (ranks.get(scope.split("::")[0], len(RUN_FIRST)), -sizes[scope], scope))
    positions = {scope: position for position, scope in enumerate(scopes)}
    items.sort(key=lambda item: positions[scope_of(item.nodeid)])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without garbage collection, and leave what exists then out of all later ones: it stays until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run the test at the same time as those of other processes, or alone."""
    if LOCK_FOLDER not in os.environ:
        return (yield)
    with run_lock(Path(os.environ[LOCK_FOLDER]), alone=item.nodeid.split("::")[0] in RUN_ALONE):
        return (yield)


@contextmanager
def run_lock(locks: Path, *, alone: bool) -> Iterator[None]:
    """Hold a shared lock while a test runs, or an exclusive one for a test that runs alone.

    A process that waits for the exclusive lock holds the queue, so that later ones wait behind it.
    """
    with (locks / "running").open("a") as running, (locks / "queue").open("a") as queue:
        fcntl.flock(queue, fcntl.LOCK_EX)
        fcntl.flock(running, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(queue, fcntl.LOCK_UN)
        yield
