"""The stored cluster with the migrated database never belongs to other migrations."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from dev.local import StartupError, template
from dev.local.embedded import Postgres
from tests.architecture.test_migrations import NEVER_MOVED

FILES = {
    "deploy/ordinary_owner.sql": "",
    "dev/local/rights_for_tests.sql": "",
    "foundation/db/fields.py": "",
    "leads/migrations/__init__.py": "",
    "leads/migrations/0001_initial.py": "import foundation.db.fields",
    "leads/migrations/_policies.py": "",
    "leads/views.py": "",
    "requirements.txt": "django==5.2",
    "requirements-embedded.txt": "",
}
# Stands in for the migrations, and counts how often they are applied.
MANAGE_PY = """
import os, pathlib, psycopg
with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
    connection.execute("CREATE TABLE migrated ()")
with pathlib.Path("applied").open("a") as applied:
    applied.write(".")
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small project."""
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path


@pytest.fixture
def migratable_checkout(checkout: Path) -> Iterator[Path]:
    """A small project whose migrations can be applied."""
    (checkout / "manage.py").write_text(MANAGE_PY)
    yield checkout
    template.remove_all(checkout)


@pytest.mark.parametrize("name", sorted(FILES.keys() - {"leads/views.py"}))
def test_changing_a_migration_or_what_it_imports_changes_the_fingerprint(checkout: Path, name: str) -> None:
    before = template.fingerprint(checkout)

    (checkout / name).write_text(FILES[name] + "\n")

    assert template.fingerprint(checkout) != before


def test_a_new_migration_changes_the_fingerprint_and_a_view_does_not(checkout: Path) -> None:
    before = template.fingerprint(checkout)

    (checkout / "leads/views.py").write_text("changed = True")
    assert template.fingerprint(checkout) == before

    (checkout / "leads/migrations/0002_more.py").touch()
    assert template.fingerprint(checkout) != before


def test_migrations_import_nothing_else_of_ours_that_decides_what_is_in_the_database() -> None:
    others = {module for module in NEVER_MOVED if not module.startswith("foundation.db.")}

    assert others == {"organizations.defaults"}  # values of new rows


def test_two_simultaneous_runs_create_one_cluster_and_get_a_copy_each(migratable_checkout: Path) -> None:
    copies = [Postgres(migratable_checkout / f"copy-{number}", ephemeral=True) for number in range(2)]

    def start(copy: Postgres) -> str:
        with template.migrated_cluster(migratable_checkout) as cluster:
            copy.template = cluster
            return copy.start()

    try:
        # The threads must outlive the checks: a server is stopped when the thread that started it ends.
        with ThreadPoolExecutor(2) as threads:
            for url in threads.map(start, copies):
                for name in (template.DATABASE, template.TEST_DATABASE):
                    with psycopg.connect(urlsplit(url)._replace(path=f"/{name}").geturl()) as connection:
                        assert connection.execute("SELECT * FROM migrated").fetchall() == []
                        connection.execute("DROP TABLE migrated")  # not visible in the other copy
    finally:
        for copy in copies:
            copy.remove()
    assert (migratable_checkout / "applied").read_text() == "."


def test_a_failed_migration_is_reported_and_nothing_is_stored(migratable_checkout: Path) -> None:
    (migratable_checkout / "manage.py").write_text("raise SystemExit('the reason')")

    with pytest.raises(StartupError, match="the reason"), template.migrated_cluster(migratable_checkout):
        pass

    clusters = migratable_checkout / ".data" / "tests"
    assert list(clusters.iterdir()) == [clusters / "lock"]
