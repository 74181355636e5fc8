"""The database's owner is an ordinary role, in a new cluster and in one of an earlier version."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dev.local.embedded import ORDINARY_OWNER, Postgres
from tests.databases import superuser_url

RIGHTS = """
SELECT rolsuper, rolcreaterole, rolbypassrls, rolcreatedb, pg_has_role('pg_execute_server_program', 'USAGE')
FROM pg_roles
WHERE rolname = session_user
"""
# Until version 0.2.0 the service's login was the superuser of the cluster's creation.
EARLIER_VERSION = """
REASSIGN OWNED BY pipeline TO postgres;
DROP OWNED BY pipeline;
DROP ROLE pipeline;
CREATE ROLE other SUPERUSER;
SET SESSION AUTHORIZATION other;
ALTER ROLE postgres RENAME TO pipeline;
SET SESSION AUTHORIZATION pipeline;
DROP ROLE other;
ALTER DATABASE postgres OWNER TO pipeline;
CREATE TABLE leads (id int GENERATED ALWAYS AS IDENTITY, number serial, organization int);
CREATE SEQUENCE numbers;
CREATE VIEW names AS SELECT organization FROM leads;
CREATE FUNCTION answer() RETURNS int SECURITY DEFINER LANGUAGE sql AS 'SELECT 42';
INSERT INTO leads (organization) VALUES (1), (2);
ALTER TABLE leads ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON leads TO pipeline_tenant USING (organization = 1);
GRANT SELECT ON leads TO pipeline_tenant;
"""
OWNERS = """
SELECT relname, relowner::regrole::text FROM pg_class WHERE relnamespace = 'public'::regnamespace
UNION ALL
SELECT proname, proowner::regrole::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
UNION ALL
SELECT datname, datdba::regrole::text FROM pg_database WHERE datname = current_database()
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Postgres]:
    """Return the server of a local run."""
    server = Postgres(tmp_path / "postgres")
    yield server
    server.remove()


def test_the_login_of_a_local_run_is_no_superuser_and_runs_no_programs(server: Postgres, tmp_path: Path) -> None:
    url = server.start()

    with psycopg.connect(url, autocommit=True) as connection:
        assert connection.execute(RIGHTS).fetchone() == (False, False, False, False, False)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"COPY (SELECT 1) TO PROGRAM 'touch {tmp_path}/run'")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SET SESSION AUTHORIZATION postgres")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(superuser_url(url))
    assert not (tmp_path / "run").exists()


def test_the_owner_of_an_earlier_version_becomes_an_ordinary_role_and_keeps_what_it_owns(server: Postgres) -> None:
    earlier = Postgres(server.directory, ephemeral=True)
    earlier.stop_steps = server.stop_steps  # shut down properly: its data must be complete
    with psycopg.connect(superuser_url(earlier.start()), autocommit=True) as connection:
        for statement in EARLIER_VERSION.strip().split(";\n"):
            connection.execute(statement)
    earlier.stop()
    (earlier.data_dir / "ordinary_owner").unlink()

    url = server.start()

    with psycopg.connect(url, autocommit=True) as connection:
        assert connection.execute(RIGHTS).fetchone() == (False, False, False, False, False)
        assert {owner for _, owner in connection.execute(OWNERS).fetchall()} == {"pipeline"}
        assert connection.execute("INSERT INTO leads (organization) VALUES (1) RETURNING id, number").fetchone() == (
            3,
            3,
        )
        assert connection.execute("SELECT count(*), answer() FROM leads").fetchone() == (3, 42)
        connection.execute("ALTER TABLE leads ADD COLUMN added int")
        connection.execute(ORDINARY_OWNER.read_text())  # once more, as the page says
        connection.execute("SET ROLE pipeline_tenant")
        assert connection.execute("SELECT count(*) FROM leads").fetchone() == (2,)
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(superuser_url(url))
