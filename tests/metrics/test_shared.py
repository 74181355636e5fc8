"""The files in which the processes of a web server count: nothing is lost, and nothing is left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = """
from foundation.metrics.definitions import LIMITS_EXCEEDED
from sys import stdin
for line in stdin:
    LIMITS_EXCEEDED.labels("tests").inc()
    print("counted", flush=True)
"""
READ = """
from prometheus_client import CollectorRegistry
from prometheus_client.multiprocess import MultiProcessCollector
registry = CollectorRegistry()
MultiProcessCollector(registry)
print(registry.get_sample_value("pipeline_limits_exceeded_total", {"limit": "tests"}))
"""
# As on a full disk, nothing can be written to a file.
ON_A_FULL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))" + COUNT
SERVER = """
import os, sys
from foundation.metrics.shared import VARIABLE, shared_folder
with shared_folder():
    print(os.environ[VARIABLE], flush=True)
    sys.stdin.read()
"""


def start(code: str, **variables: str) -> "subprocess.Popen[str]":
    """Start Python code with pipes."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def send_line(process: "subprocess.Popen[str]") -> None:
    """Let a counting process count once, and wait until it has."""
    assert process.stdin
    assert process.stdout
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "counted\n"


@pytest.fixture
def folder(tmp_path: Path) -> dict[str, str]:
    return {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}


def read_count(folder: dict[str, str]) -> float:
    return float(start(READ, **folder).communicate(timeout=60)[0])


def test_a_process_that_replaces_a_killed_one_counts_on_in_its_file(folder: dict[str, str], tmp_path: Path) -> None:
    for _generation in range(2):
        first, second = start(COUNT, **folder), start(COUNT, **folder)
        for process in (first, second, second):
            send_line(process)
        for process in (first, second):
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=60)

    assert read_count(folder) == 6
    assert len(list(tmp_path.glob("counter_*.db"))) == 2


def test_no_file_has_holes_which_would_kill_the_process_when_the_disk_is_full(
    folder: dict[str, str], tmp_path: Path
) -> None:
    process = start(COUNT, **folder)
    send_line(process)
    process.communicate(timeout=60)

    sizes = [file.stat() for file in tmp_path.glob("*.db")]
    assert len(sizes) == 2
    assert [size for size in sizes if size.st_blocks * 512 < size.st_size] == []


@pytest.mark.parametrize(
    ("code", "name", "reason"),
    [(ON_A_FULL_DISK, "", "File too large"), (COUNT, "missing", "No such file or directory")],
)
def test_a_process_that_has_no_files_to_count_in_says_so_and_goes_on(
    tmp_path: Path, code: str, name: str, reason: str
) -> None:
    folder = str(tmp_path / name)
    process = start(code, PROMETHEUS_MULTIPROC_DIR=folder)
    try:
        assert process.communicate("\n", timeout=60) == (
            "counted\n",
            f"{folder}: {reason}; the metrics lack this process\n",
        )
    finally:
        process.kill()


def test_a_server_deletes_its_folder_and_those_of_killed_servers_but_none_in_use(tmp_path: Path) -> None:
    folders = []
    running = []
    for _server in range(3):
        process = start(SERVER, TMPDIR=str(tmp_path))
        assert process.stdout
        folders.append(Path(process.stdout.readline().strip()))
        running.append(process)
    running[0].send_signal(signal.SIGKILL)
    running[0].communicate(timeout=60)
    running[1].communicate(timeout=60)  # closes its input
    kept_by_kill = folders[0].is_dir()
    last = start(SERVER, TMPDIR=str(tmp_path))
    assert last.stdout
    new = Path(last.stdout.readline().strip())

    left = set(tmp_path.iterdir())
    for process in (running[2], last):
        process.communicate(timeout=60)

    assert kept_by_kill
    assert left == {folders[2], new}
    assert set(tmp_path.iterdir()) == set()
