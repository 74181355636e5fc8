"""The kept cluster with the migrated database: never that of other migrations."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from pipeline_backend.local import StartupError, template
from pipeline_backend.local.embedded import Postgres

FILES = {
    "requirements.txt": "django==5.2",
    "requirements-embedded.txt": "",
    "leads/__init__.py": "",
    "leads/migrations/__init__.py": "",
    "leads/migrations/0001_initial.py": "from project import policies\nimport leads.fields",
    "leads/models.py": "",
    "leads/fields.py": "def late():\n    from project.deep import far",
    "leads/views.py": "",
    "project/__init__.py": "",
    "project/policies.py": "from . import near",
    "project/near.py": "",
    "project/deep/far.py": "",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small project."""
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path


@pytest.mark.parametrize("name", sorted(FILES.keys() - {"leads/views.py"}))
def test_a_change_of_a_migration_or_of_what_it_imports_changes_the_fingerprint(checkout: Path, name: str) -> None:
    before = template.fingerprint(checkout)

    (checkout / name).write_text(FILES[name] + "\n")

    assert template.fingerprint(checkout) != before


def test_a_new_migration_changes_the_fingerprint_and_a_view_does_not(checkout: Path) -> None:
    before = template.fingerprint(checkout)

    (checkout / "leads/views.py").write_text("changed = True")
    assert template.fingerprint(checkout) == before

    (checkout / "leads/migrations/0002_more.py").touch()
    assert template.fingerprint(checkout) != before


def test_a_file_that_does_not_compile_has_a_fingerprint_too(checkout: Path) -> None:
    (checkout / "project/near.py").write_text("def")

    assert template.fingerprint(checkout)


@pytest.fixture
def kept(checkout: Path) -> Iterator[Path]:
    """The small project, whose migrations are applied by a program that only counts how often it is asked."""
    (checkout / "manage.py").write_text(
        "import os, pathlib, psycopg\n"
        "with psycopg.connect(os.environ['DATABASE_URL']) as connection:\n"
        "    connection.execute('CREATE TABLE migrated ()')\n"
        "with pathlib.Path('asked').open('a') as asked:\n"
        "    asked.write('.')\n"
    )
    yield checkout
    template.remove_all(checkout)


def test_two_runs_at_the_same_time_create_one_cluster_and_each_has_a_copy(kept: Path) -> None:
    copies = [Postgres(kept / f"copy-{number}", throwaway=True) for number in range(2)]

    def start(copy: Postgres) -> str:
        with template.template(kept) as cluster:
            copy.template = cluster
            return copy.start()

    try:
        with ThreadPoolExecutor(2) as threads:  # a server ends with the thread that has started it
            for url in threads.map(start, copies):
                with psycopg.connect(url.replace("/postgres", f"/{template.DATABASE}")) as connection:
                    assert connection.execute("SELECT * FROM migrated").fetchall() == []
                    connection.execute("DROP TABLE migrated")  # nobody else sees it
    finally:
        for copy in copies:
            copy.remove()
    assert (kept / "asked").read_text() == "."


def test_migrations_that_fail_are_told_and_nothing_is_kept(kept: Path) -> None:
    (kept / "manage.py").write_text("raise SystemExit('the reason')")

    with pytest.raises(StartupError, match="the reason"), template.template(kept):
        pass

    assert list((kept / ".data" / "tests").iterdir()) == [kept / ".data" / "tests" / "lock"]
