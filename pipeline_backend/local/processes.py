"""Processes: start them so that they die with this one, recognize them later, and stop them."""

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
HAS_PROC = (PROC / "self" / "stat").exists()  # macOS has none
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
PR_SET_PDEATHSIG = 1


def start(
    command: Sequence[str | Path], *, parent_death_signal: signal.Signals = signal.SIGTERM, **options: Any
) -> "subprocess.Popen[bytes]":
    """Start a command.

    On Linux it gets `parent_death_signal` when this process dies, however that happens. `options` are those of Popen.
    """
    arguments = [str(argument) for argument in command]
    # A session of its own by default, so that Ctrl-C in the terminal reaches only this process, which stops the others
    # in order.
    options = {"start_new_session": True, **options}
    return subprocess.Popen(arguments, preexec_fn=_set_death_signal(parent_death_signal), **options)


def _set_death_signal(number: signal.Signals) -> Callable[[], None] | None:
    """Return a function for the new process that asks the kernel for the signal; None if that isn't possible."""
    if LIBC is None:
        return None
    parent, prctl = os.getpid(), LIBC.prctl

    def set_death_signal() -> None:
        prctl(PR_SET_PDEATHSIG, number)
        # If the parent died before the line above, the signal will never come.
        if os.getppid() != parent:
            os._exit(1)

    return set_death_signal


def start_time(pid: int) -> str | None:
    """Return when a process was started, or None if it is gone.

    Together with the pid it identifies a process, because pids are reused.
    """
    if not HAS_PROC:
        return _ps("lstart=", pid)
    fields = _stat(PROC / str(pid))
    # The time is counted from the last boot, so the boot belongs to it.
    boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
    return f"{fields[19]} {boot}" if fields else None


def group_exists(leader: int) -> bool:
    """Return whether any process of this process group is still running."""
    # killpg() counts zombies as well, and in some containers nobody reaps them.
    if HAS_PROC:
        return any(fields[2] == str(leader) for fields in map(_stat, PROC.glob("[0-9]*")) if fields)
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):  # PermissionError: macOS, for a group of zombies
        return False
    return True


def _stat(directory: Path) -> list[str]:
    """Return the fields of /proc/<pid>/stat, beginning with the state; [] for a zombie or a process that is gone."""
    try:
        # The name, in parentheses, can contain spaces and parentheses itself.
        fields = (directory / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
    return [] if fields[0] in "ZX" else fields


def command_line(pid: int) -> str:
    """Return the command line of a process, or "" if it can't be read."""
    if not HAS_PROC:
        return _ps("command=", pid) or ""
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def _ps(column: str, pid: int) -> str | None:
    result = subprocess.run(["ps", "-ww", "-o", column, "-p", str(pid)], capture_output=True, text=True, check=False)
    return result.stdout.strip() or None


def find_by_environment(assignment: str) -> list[int]:
    """Return the pids of the processes that have this NAME=value in their environment (Linux only)."""
    return [int(directory.name) for directory in PROC.glob("[0-9]*") if assignment.encode() in _environment(directory)]


def _environment(directory: Path) -> list[bytes]:
    try:
        return (directory / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def stop(pid: int, *steps: tuple[signal.Signals, float]) -> None:
    """Send signals to a process that isn't our child: each with a time to wait, until the process is gone."""
    started_at = start_time(pid)
    for number, timeout in steps:
        if started_at is None or start_time(pid) != started_at:
            return
        send_signal(os.kill, pid, number)
        wait_until(lambda: start_time(pid) != started_at, timeout)


def send_signal(kill: Callable[[int, int], None], target: int, number: int) -> None:
    """Call os.kill or os.killpg for a target that may already be gone."""
    try:
        kill(target, number)
    except (ProcessLookupError, PermissionError):  # PermissionError: macOS, for a group of zombies
        return


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Return whether the condition becomes true within that time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
