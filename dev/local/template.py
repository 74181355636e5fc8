"""A PostgreSQL cluster with the migrated database, stored for the next run of the tests.

Creating a cluster and applying all migrations takes seconds; copying the result takes a fraction of one. A cluster
belongs to a hash of the migrations and of what they import, so a changed migration never meets an old database.
"""

import fcntl
import hashlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from dev.local import StartupError, environment
from dev.local.embedded import Postgres

# The tests' own database, ready to be used, and the same once more for tests that create databases from it.
TEST_DATABASE, DATABASE = "test_postgres", "migrated"
CLUSTERS = ".data/tests"
# The files that decide what is in the database. Of ours, migrations import only fields and expressions.
SOURCES = [
    "*/migrations/*.py",
    "foundation/db/*.py",
    "requirements.txt",
    "requirements-embedded.txt",
    "deploy/ordinary_owner.sql",
    "dev/local/rights_for_tests.sql",
    "dev/local/embedded.py",
    "dev/local/template.py",
]


@contextmanager
def migrated_cluster(root: Path) -> Iterator[Postgres]:
    """Yield the stopped cluster with this checkout's migrations; create it if missing.

    No other run uses or removes it before the block ends. Raises StartupError if the migrations can't be applied.
    """
    with locked_clusters(root) as directory:
        cluster = stored_cluster(directory / fingerprint(root))
        # The marker alone isn't enough: root's clusters are in /var/tmp, which the system may clear.
        if not ((cluster.directory / "complete").exists() and cluster.cluster.exists()):
            remove_clusters(directory)
            create(cluster, root)
        yield cluster


def stored_cluster(directory: Path) -> Postgres:
    """Return a cluster that is written fast, as for tests, but shut down properly: its files must be complete."""
    cluster = Postgres(directory, ephemeral=True)
    cluster.stop_steps = Postgres.stop_steps
    return cluster


def create(cluster: Postgres, root: Path) -> None:
    """Create the cluster and apply the migrations. Raises StartupError, and leaves nothing behind, if that fails."""
    import psycopg  # noqa: PLC0415 - slow, and needed only if migrations have changed

    url = cluster.start()
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        variables = environment.for_tests() | {"DATABASE_URL": urlsplit(url)._replace(path=f"/{DATABASE}").geturl()}
        variables |= {"REDIS_URL": "redis://127.0.0.1:1/0"}  # required by the settings, but not used by migrations
        command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        result = subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True, check=False)
        if result.returncode:
            raise StartupError(f"The migrations could not be applied:\n{result.stdout}{result.stderr}")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {TEST_DATABASE} TEMPLATE {DATABASE}")
    except BaseException:
        cluster.remove()
        raise
    # Complete only now: before the server has stopped, its files are not consistent.
    cluster.stop()
    (cluster.directory / "complete").touch()


def remove_all(root: Path) -> None:
    with locked_clusters(root) as directory:
        remove_clusters(directory)


def remove_clusters(directory: Path) -> None:
    for path in [path for path in directory.iterdir() if path.is_dir()]:
        stored_cluster(path).remove()


@contextmanager
def locked_clusters(root: Path) -> Iterator[Path]:
    """Yield the directory of a checkout's clusters, which no other process uses meanwhile."""
    directory = root / CLUSTERS
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (directory / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield directory


def fingerprint(root: Path) -> str:
    """Return a hash of Python's version and of the files that decide what is in the database."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted({path for pattern in SOURCES for path in root.glob(pattern)}):
        content = path.read_bytes()
        # The length separates the files, so that moving text from one to the next changes the hash.
        digest.update(f"{path.relative_to(root)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]
