"""The folder in which the processes of one web server count, and the place that each of them has in it.

A lock on a file ends with the last process that holds it, however it ends. So a folder or place whose lock is free is
not in use.
"""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # its name in prometheus_client
PREFIX = "pipeline-backend-metrics-"
FILE_BYTES = 2**21  # some 8,000 series


@contextmanager
def shared_folder() -> Iterator[None]:
    """Make a folder for this process's children, name it in their environment, and delete it in the end.

    Also deletes the folders of servers that were killed.
    """
    parent = Path(tempfile.gettempdir())
    for old in parent.glob(f"{PREFIX}*"):
        with suppress(FileNotFoundError):  # another server has just deleted it
            if is_own(old) and (descriptor := lock(old / "lock")) is not None:
                shutil.rmtree(old, ignore_errors=True)
                os.close(descriptor)
    unnamed = Path(tempfile.mkdtemp(prefix=f"new-{PREFIX}"))
    lock(unnamed / "lock")
    # It gets its name when it is locked, or a server that starts at the same time could delete it before.
    folder = unnamed.rename(parent / unnamed.name.removeprefix("new-"))
    os.environ[VARIABLE] = str(folder)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_own(path: Path) -> bool:
    status = path.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()


def take_place(folder: Path) -> int:
    """Return the first number that no running process has, and keep it until this process ends.

    Raises OSError if the folder is missing or the disk is full.
    """
    place = next(number for number in count() if lock(folder / f"place-{number}") is not None)
    # prometheus_client would make files with holes. When the disk is full, a process that writes to a hole is killed.
    for file in (folder / f"counter_{place}.db", folder / f"histogram_{place}.db"):
        if not file.exists() or file.stat().st_size < FILE_BYTES:
            file.write_bytes(bytes(FILE_BYTES))
    return place


def lock(path: Path) -> int | None:
    """Lock a file, which is created if need be, and return its descriptor; return None if it is locked.

    Raises FileNotFoundError if its folder is missing.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
