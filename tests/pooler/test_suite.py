"""Other tests pass behind PgBouncer too: every statement of a request, a worker or a command gets a session there."""

import os
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest
from django.conf import settings
from psycopg import sql

from dev.local import ephemeral
from tests import parallel
from tests.databases import drop_database
from tests.pooler.pgbouncer import PgBouncer

DATABASE = "pooled"
SELECTION = [
    "tests/pooler/behind_pgbouncer.py",
    "tests/commands/test_smoke_test.py",
    "tests/contract/create/test_sources.py",
    "tests/contract/lists/test_events.py",
    "tests/contract/test_cancel.py",
    "tests/contract/test_tenant_isolation.py",
    "tests/hostile/test_statement_timeouts.py",
    "tests/webhooks/test_results.py",
]


@pytest.fixture
def pooled_database() -> Iterator[str]:
    """Create a migrated database for other tests, beside the test's own; return the URL of PostgreSQL."""
    server = os.environ["DATABASE_URL"]
    name, template = sql.Identifier(f"test_{DATABASE}"), os.environ.get(ephemeral.TEMPLATE)
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, sql.Identifier(template or "template1"))
        )
        try:
            if template is None:
                migrate = run(
                    "manage.py", "migrate", DATABASE_URL=urlsplit(server)._replace(path=f"/test_{DATABASE}").geturl()
                )
                assert migrate.returncode == 0, migrate.stdout + migrate.stderr
            yield server
        finally:
            drop_database(connection, f"test_{DATABASE}")


def run(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run Python in the project's folder, with these variables added to the environment."""
    # Without the locks of tests that run alone: the other pytest would wait for this one, which waits for it.
    environment = {name: value for name, value in os.environ.items() if name != parallel.LOCK_FOLDER}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=settings.ROOT,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def test_other_tests_pass_behind_pgbouncer(pooled_database: str) -> None:
    with PgBouncer(urlsplit(pooled_database)) as pgbouncer:
        result = run(
            *("-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "--reuse-db", *SELECTION),
            DATABASE_URL=pgbouncer.url(DATABASE),
            DATABASE_POOLER="transaction",
        )

    assert result.returncode == 0, result.stdout[-10_000:] + result.stderr[-2000:]
    assert int(result.stdout.split(" passed")[0].rsplit(maxsplit=1)[-1]) > 50


def test_a_process_without_the_setting_can_not_connect_to_pgbouncer() -> None:
    with PgBouncer(urlsplit(os.environ["DATABASE_URL"])) as pgbouncer:
        result = run("manage.py", "doctor", DATABASE_URL=pgbouncer.url("postgres"))

    assert result.returncode == 1
    assert "unsupported startup parameter: options" in result.stdout
