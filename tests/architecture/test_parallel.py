"""Tests in several processes: what runs together, first and alone."""

import fcntl
import threading
import time
from pathlib import Path

from tests import parallel
from tests.faults.stack import wait_for

ROOT = Path(__file__).resolve().parents[2]


def test_every_listed_file_and_folder_exists() -> None:
    names = [*parallel.KEEP_TOGETHER, *parallel.RUN_FIRST, *parallel.RUN_ALONE]

    assert [name for name in names if not (ROOT / name).exists()] == []


def test_folders_stay_together_and_long_tests_are_separate() -> None:
    scopes = {
        "tests/contract/test_cancel.py::test_a[x/y::z]": "tests/contract/test_cancel.py",
        "tests/faults/test_sigkill.py::test_a": "tests/faults",
        "tests/faults/test_fairness.py::test_a": "tests/faults/test_fairness.py",
        "tests/mirror/test_copies.py::test_a[1]": "tests/mirror/test_copies.py::test_a[1]",
    }

    assert {nodeid: parallel.scope_of(nodeid) for nodeid in scopes} == scopes


def test_tests_that_share_an_id_are_all_run() -> None:
    nodeids = ["test_a.py::test", "test_a.py::other", "test_a.py::test"]

    assert parallel.number_duplicates(nodeids) == ["test_a.py::test", "test_a.py::other", "test_a.py::test[2]"]


def test_a_test_that_runs_alone_waits_for_all_others_and_they_wait_for_it(tmp_path: Path) -> None:
    running: set[str] = set()
    began: list[set[str]] = []
    may_end = {name: threading.Event() for name in ("first", "second", "alone", "third", "fourth")}

    def work(name: str) -> None:
        with parallel.run_lock(tmp_path, alone=name == "alone"):
            running.add(name)
            began.append(set(running))
            may_end[name].wait(60)
            running.remove(name)

    def start(name: str) -> None:
        threading.Thread(target=work, args=[name]).start()

    start("first")
    start("second")
    wait_for(lambda: running == {"first", "second"})
    start("alone")
    wait_for(lambda: is_locked(tmp_path / "queue"))
    start("third")
    start("fourth")
    may_end["first"].set()
    may_end["second"].set()
    wait_for(lambda: running == {"alone"})
    may_end["alone"].set()
    wait_for(lambda: running == {"third", "fourth"})
    may_end["third"].set()
    may_end["fourth"].set()
    wait_for(lambda: not running)

    assert began[1:3] == [{"first", "second"}, {"alone"}]
    assert began[4] == {"third", "fourth"}


def is_locked(path: Path) -> bool:
    """Return whether somebody holds the file's lock, and keeps it for a while."""
    with path.open("a") as file:
        for _ in range(20):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.01)
            else:
                return False
    return True
