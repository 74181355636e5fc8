"""Tests in several processes: what runs together, first and alone."""

import threading
import time
from pathlib import Path

from tests import parallel

ROOT = Path(__file__).resolve().parents[2]


def test_every_listed_file_and_folder_exists() -> None:
    names = [*parallel.KEEP_TOGETHER, *parallel.RUN_FIRST, *parallel.RUN_ALONE]

    assert [name for name in names if not (ROOT / name).exists()] == []


def test_folders_stay_together_and_long_tests_are_separate() -> None:
    scopes = {
        "tests/contract/test_cancel.py::test_a[x/y::z]": "tests/contract/test_cancel.py",
        "tests/faults/test_sigkill.py::test_a": "tests/faults",
        "tests/faults/test_soak.py::test_a": "tests/faults/test_soak.py",
        "tests/mirror/test_copies.py::test_a[1]": "tests/mirror/test_copies.py::test_a[1]",
    }

    assert {nodeid: parallel.scope_of(nodeid) for nodeid in scopes} == scopes


def test_tests_that_share_an_id_are_all_run() -> None:
    nodeids = ["test_a.py::test", "test_a.py::other", "test_a.py::test"]

    assert parallel.number_duplicates(nodeids) == ["test_a.py::test", "test_a.py::other", "test_a.py::test[2]"]


def test_a_test_that_runs_alone_waits_for_all_others_and_they_wait_for_it(tmp_path: Path) -> None:
    running: list[str] = []
    snapshots: list[set[str]] = []

    def work(name: str) -> None:
        with parallel.run_lock(tmp_path, alone=name == "alone"):
            running.append(name)
            snapshots.append(set(running))
            time.sleep(0.2)
            snapshots.append(set(running))
            running.remove(name)

    threads = [threading.Thread(target=work, args=[name]) for name in ("first", "second", "alone", "third", "fourth")]
    for thread in threads:
        thread.start()
        time.sleep(0.03)
    for thread in threads:
        thread.join()

    assert {"first", "second"} in snapshots
    assert {"third", "fourth"} in snapshots
    assert [names for names in snapshots if "alone" in names] == [{"alone"}, {"alone"}]
