"""Processes of the local run: started so that they die with us, recognised later, ended for good."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

PROC = Path("/proc")
HAS_PROC = (PROC / "self" / "stat").exists()
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
PR_SET_PDEATHSIG = 1


def start(
    command: Sequence[str | Path], *, last_wish: signal.Signals = signal.SIGTERM, **options: Any
) -> "subprocess.Popen[bytes]":
    """Start a command, by default away from the terminal, so that Ctrl-C there reaches this process alone.

    It gets the signal `last_wish` when this process dies, however that happens (on Linux).
    """
    words = [str(word) for word in command]
    return subprocess.Popen(words, preexec_fn=_tie(last_wish), **{"start_new_session": True, **options})


def _tie(last_wish: signal.Signals) -> Callable[[], None] | None:
    if LIBC is None:
        return None
    parent, prctl = os.getpid(), LIBC.prctl

    def tie() -> None:
        prctl(PR_SET_PDEATHSIG, last_wish)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)

    return tie


def started(pid: int) -> str | None:
    """When a process began; with the pid it names that process for ever. None if it is gone."""
    if not HAS_PROC:
        return _ps("lstart=", pid)
    fields = _stat(PROC / str(pid))
    boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
    return f"{fields[19]} {boot}" if fields else None


def has_group(leader: int) -> bool:
    """Whether anything of this process group is still running."""
    if HAS_PROC:  # the other way counts zombies, and not every container has somebody who buries them
        return any(fields[2] == str(leader) for fields in map(_stat, PROC.glob("[0-9]*")) if fields)
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):  # macOS says the latter of a group of zombies
        return False
    return True


def _stat(folder: Path) -> list[str]:
    """Fields of /proc/<pid>/stat from the state on; none for a zombie."""
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
    return [] if fields[0] in "ZX" else fields


def command_line(pid: int) -> str:
    """The words a process was started with, or an empty text."""
    if not HAS_PROC:
        return _ps("command=", pid) or ""
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def _ps(column: str, pid: int) -> str | None:
    answer = subprocess.run(["ps", "-ww", "-o", column, "-p", str(pid)], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None


def marked(mark: str) -> list[int]:
    """Processes that inherited this setting of their environment (Linux only)."""
    return [int(folder.name) for folder in PROC.glob("[0-9]*") if mark.encode() in _environment(folder)]


def _environment(folder: Path) -> list[bytes]:
    try:
        return (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def end(pid: int, *steps: tuple[signal.Signals, float]) -> None:
    """Send each signal in turn to a process that isn't our child, until it is gone or the steps are used up."""
    born = started(pid)
    for number, patience in steps:
        if born is None or started(pid) != born:
            return
        send(os.kill, pid, number)
        wait_until(lambda: started(pid) != born, patience)


def send(how: Callable[[int, int], None], target: int, number: int) -> None:
    """os.kill or os.killpg, for a target that may be gone already."""
    try:
        how(target, number)
    except (ProcessLookupError, PermissionError):  # macOS says the latter of a group of zombies
        return


def wait_until(is_so: Callable[[], bool], seconds: float) -> bool:
    """Whether it came true within that time."""
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
