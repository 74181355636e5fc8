"""A pair of PostgreSQL servers that fails over again and again, and whose primary's disk is full for a while."""

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from dev.local import processes
from dev.local.embedded import Postgres
from tests.faults.postgres_pair import PostgresPair
from tests.faults.stack import wait_for

DISK_SIZE = "3g"  # of each server
KEPT_LOG = "256MB"
DOWN_SECONDS, FULL_SECONDS = 2.0, 10.0
DISK_FULL = "No space left on device"
NEW_MOUNT_NAMESPACE = 0x20000  # for unshare(2)


class SoakPair(PostgresPair):
    """A pair of which each server has a disk of its own, if this process may mount one (`has_disks`)."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.has_disks = may_mount()
        super().__init__(folder, stack)

    def prepare_disk(self, server: Postgres) -> None:
        """Mount a file system in memory where the server's data will be."""
        if self.has_disks:
            server.data_dir.mkdir(mode=0o700, parents=True)
            mount("-t", "tmpfs", "-o", f"size={DISK_SIZE},mode=0700", "tmpfs", str(server.data_dir))
            self.stack.callback(unmount, server.data_dir)

    def add_standby(self) -> None:
        """Copy the primary to a new standby, for which it keeps its log while that can't follow."""
        self.administer(f"ALTER SYSTEM SET wal_keep_size = '{KEPT_LOG}'", "SELECT pg_reload_conf()")
        super().add_standby()

    def fail_over(self) -> bool:
        """Kill the primary, promote the standby after a while, and give it a standby of its own."""
        failed = self.primary
        self.kill_primary()
        time.sleep(DOWN_SECONDS)
        self.promote_standby()
        shutil.rmtree(failed.cluster, ignore_errors=True)
        self.add_standby()
        return True

    def fill_disk(self) -> bool:
        """Leave the primary no free space for a while; return whether PostgreSQL met that.

        It stops itself if it can't continue its log; then it is started again, as a supervisor does.
        """
        before = self.count_errors()
        filler = self.primary.data_dir / "filler"
        full_until = time.monotonic() + FULL_SECONDS
        while time.monotonic() < full_until:
            fill(filler)  # again, because PostgreSQL deletes files of its own
            time.sleep(0.1)
        filler.unlink()
        wait_for(self.is_restored, seconds=300)
        return self.count_errors() > before

    def count_errors(self) -> int:
        """Return how often the primary had no space left."""
        return self.primary.log.read_text().count(DISK_FULL)

    def is_restored(self) -> bool:
        """Return whether the primary has its standby again; start it if it has stopped."""
        if self.primary.has_exited():
            self.primary.pid_file.unlink(missing_ok=True)
            self.primary.process = self.primary.spawn()
        with contextlib.suppress(psycopg.OperationalError):
            return self.administer("SELECT sync_state FROM pg_stat_replication") == [("sync",)]
        return False


def may_mount() -> bool:
    """Return whether this process has got a mount namespace of its own, whose mounts end with it."""
    if processes.LIBC is None or processes.LIBC.unshare(NEW_MOUNT_NAMESPACE) != 0:
        return False
    return mount("--make-rprivate", "/")


def mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], check=False).returncode == 0


def unmount(folder: Path) -> None:
    subprocess.run(["umount", folder], check=True)
    folder.rmdir()


def fill(filler: Path) -> None:
    """Extend the file by all free space."""
    with filler.open("ab") as file, contextlib.suppress(OSError):
        while free := os.statvfs(file.fileno()).f_bavail * os.statvfs(file.fileno()).f_frsize:
            os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), free)


@contextmanager
def soak_pair(folder: Path) -> Iterator[SoakPair]:
    """Copy the test's database to two servers of their own; remove them at the end of the block."""
    with contextlib.ExitStack() as stack:
        yield SoakPair(folder, stack)
