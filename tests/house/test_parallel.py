"""What runs beside what."""

import threading
import time
from pathlib import Path

from tests import parallel

ROOT = Path(__file__).resolve().parents[2]


def test_every_file_and_folder_that_is_named_exists() -> None:
    assert [name for name in (*parallel.TOGETHER, *parallel.FIRST, *parallel.ALONE) if not (ROOT / name).exists()] == []


def test_files_stay_together_and_those_that_measure_stay_apart() -> None:
    scopes = {
        "tests/contract/test_cancel.py::test_a[x/y::z]": "tests/contract/test_cancel.py",
        "tests/faults/test_killed.py::test_a": "tests/faults",
        "tests/faults/test_soak.py::test_a": "tests/faults/test_soak.py",
    }

    assert {nodeid: parallel.scope_of(nodeid) for nodeid in scopes} == scopes


def test_whoever_is_alone_waits_for_all_others_and_they_for_it(tmp_path: Path) -> None:
    running, seen = [], []

    def work(name: str) -> None:
        with parallel.turn(tmp_path, alone=name == "alone"):
            running.append(name)
            seen.append(set(running))
            time.sleep(0.2)
            seen.append(set(running))
            running.remove(name)

    threads = [threading.Thread(target=work, args=[name]) for name in ("first", "second", "alone", "third", "fourth")]
    for thread in threads:
        thread.start()
        time.sleep(0.03)
    for thread in threads:
        thread.join()

    assert {"first", "second"} in seen
    assert {"third", "fourth"} in seen
    assert [names for names in seen if "alone" in names] == [{"alone"}, {"alone"}]
