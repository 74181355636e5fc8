"""A database of a provider, without superuser: `migrate` says what is missing before it changes anything."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from tests.databases import superuser_url
from tests.deployment.files import ROOT

SECONDS = 120
PASSWORD = "only-for-tests"


class Database:
    """An empty database and a user who may do nothing; both have the same name."""

    def __init__(self, name: str) -> None:
        self.name = name
        names = {"user": name, "database": name, "tenant": f"{name}_tenant", "staff": f"{name}_staff"}
        self.names = {key: sql.Identifier(value) for key, value in names.items()}

    def administer(self, *statements: str, database: str = "") -> None:
        """Run statements as the cluster's administrator."""
        url = superuser_url(os.environ["DATABASE_URL"])
        with psycopg.connect(url, autocommit=True, **({"dbname": database} if database else {})) as connection:
            for statement in statements:
                connection.execute(sql.SQL(statement).format(**self.names))

    def migrate(self) -> str:
        """Run `migrate` as the user, and return its error."""
        address = os.environ["DATABASE_URL"].rpartition("@")[2].partition("/")[0]
        url = f"postgres://{self.name}:{PASSWORD}@{address}/{self.name}"
        done = subprocess.run(
            [sys.executable, "manage.py", "migrate", "--noinput"],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": url},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 1
        return done.stderr

    def tables(self) -> list[str]:
        with psycopg.connect(superuser_url(os.environ["DATABASE_URL"]), dbname=self.name) as connection:
            rows = connection.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")
            return [name for (name,) in rows.fetchall()]


@pytest.fixture
def database() -> Iterator[Database]:
    database = Database(f"managed_{uuid.uuid4().hex[:8]}")
    database.administer(f"CREATE ROLE {{user}} LOGIN PASSWORD '{PASSWORD}'", "CREATE DATABASE {database}")
    yield database
    database.administer("DROP DATABASE {database} WITH (FORCE)")
    database.administer(*(f"DROP ROLE IF EXISTS {{{role}}}" for role in ("tenant", "staff", "user")))


def test_each_missing_right_is_named_with_the_statement_that_gives_it_until_nothing_is_missing(
    database: Database,
) -> None:
    """That `migrate` then works for an ordinary user is part of test_without_containers.py."""
    name = database.name
    owner = f"ALTER DATABASE {name} OWNER TO {name};"
    roles = f"CREATE ROLE {name}_tenant NOLOGIN; CREATE ROLE {name}_staff NOLOGIN;"
    grant = f"GRANT {name}_tenant, {name}_staff TO {name};"

    without_tables = database.migrate()
    database.administer(owner)
    without_roles = database.migrate()
    database.administer(*roles.removesuffix(";").split("; "))
    without_grant = database.migrate()

    assert f"may not create tables. Let an administrator of the database run\n    {owner}\n" in without_tables
    assert f"may not create roles. Let an administrator of the database run\n    {roles} {grant}\n" in without_roles
    assert f"may not create roles. Let an administrator of the database run\n    {grant}\n" in without_grant
    assert database.tables() == []
