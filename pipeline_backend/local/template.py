"""A PostgreSQL cluster with the migrated database, kept for the next run of the tests.

Creating a cluster and applying every migration takes seconds, copying the result takes a fraction of one. A kept
cluster belongs to a fingerprint of all that decides what is in it, so a changed migration never meets an old database.
"""

import ast
import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from pipeline_backend.local import StartupError, environment
from pipeline_backend.local.embedded import Postgres

DATABASE = "migrated"
KEPT = 3  # for those who change between branches
# What decides what is in the database, beside all that these files import.
SOURCES = [
    "migrations/*.py",
    "models.py",
    "models/*.py",
    "apps.py",
    "settings.py",
    "local/embedded.py",
    "local/template.py",
]
PINS = ["requirements.txt", "requirements-embedded.txt"]


@contextmanager
def template(root: Path) -> Iterator[Postgres]:
    """The stopped cluster of this checkout's migrations, created if missing; nobody removes it meanwhile."""
    place = root / ".data" / "tests"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    cluster = kept_cluster(place / fingerprint(root))
    while True:
        with locked(place, fcntl.LOCK_SH):
            if is_complete(cluster):
                os.utime(cluster.folder)  # the oldest are removed first
                yield cluster
                return
        with locked(place, fcntl.LOCK_EX):
            if not is_complete(cluster):
                create(cluster, root)
                remove_oldest(place)


def kept_cluster(folder: Path) -> Postgres:
    """Written fast as for tests, but stopped in an orderly way: its files have to be complete."""
    cluster = Postgres(folder, throwaway=True)
    cluster.stop_steps = Postgres.stop_steps
    return cluster


def is_complete(cluster: Postgres) -> bool:
    # On its own the folder doesn't tell: root's clusters are elsewhere, where a system may clear them away.
    return (cluster.folder / "complete").exists() and cluster.data.exists()


def create(cluster: Postgres, root: Path) -> None:
    """Create the cluster and apply the migrations; it is complete only once the server has stopped."""
    import psycopg  # noqa: PLC0415 - slow, and needed only if migrations have changed

    cluster.remove()
    url = cluster.start()
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        variables = environment.for_tests() | {"DATABASE_URL": urlsplit(url)._replace(path=f"/{DATABASE}").geturl()}
        variables |= {"REDIS_URL": "redis://127.0.0.1:1/0"}  # never asked
        command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
        done = subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True, check=False)
        if done.returncode:
            raise StartupError(f"The migrations could not be applied:\n{done.stdout}{done.stderr}")
    except BaseException:
        cluster.remove()
        raise
    cluster.stop()
    (cluster.folder / "complete").touch()


def remove_oldest(place: Path) -> None:
    folders = sorted((path for path in place.iterdir() if path.is_dir()), key=lambda path: path.stat().st_mtime)
    for folder in folders[:-KEPT]:
        kept_cluster(folder).remove()


def remove_all(root: Path) -> None:
    """For `make clean`."""
    place = root / ".data" / "tests"
    if place.exists():
        with locked(place, fcntl.LOCK_EX):
            for folder in [path for path in place.iterdir() if path.is_dir()]:
                kept_cluster(folder).remove()


@contextmanager
def locked(place: Path, how: int) -> Iterator[None]:
    """Many runs may copy at the same time; whoever creates or removes a cluster is alone."""
    with (place / "lock").open("w") as file:
        fcntl.flock(file, how)
        yield


# --- what a cluster depends on ----------------------------------------------------------------------------------------


def fingerprint(root: Path) -> str:
    """A hash of the migrations, the models, all of the project that they import, and the pinned packages."""
    folders = [path for path in root.iterdir() if path.is_dir() and not path.name.startswith(".")]
    modules = {path for folder in folders for pattern in SOURCES for path in folder.rglob(pattern)}
    unread = list(modules)
    while unread:
        found = imported(root, unread.pop()) - modules
        modules |= found
        unread += found
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(modules | {root / name for name in PINS}):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def imported(root: Path, path: Path) -> set[Path]:
    """The project's files that a module imports, wherever in it."""
    names: set[str] = set()
    try:
        tree = ast.parse(path.read_bytes())
    except SyntaxError:  # whoever imports it will say so
        return set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ".".join(path.relative_to(root).parts[: -node.level]) if node.level else ""
            module = ".".join(part for part in (package, node.module) if part)
            names.update([module, *(f"{module}.{alias.name}" for alias in node.names)])
    return {file for name in names for file in files_of(root, name)}


def files_of(root: Path, module: str) -> list[Path]:
    """The file of a module and the packages around it, if it is the project's."""
    parts = module.split(".")
    around = [root.joinpath(*parts[:length], "__init__.py") for length in range(1, len(parts) + 1)]
    return [path for path in (*around, root.joinpath(*parts).with_suffix(".py")) if path.is_file()]
