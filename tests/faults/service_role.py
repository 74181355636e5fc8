"""A separate database role for the service, so that tests can let PostgreSQL refuse it."""

from types import TracebackType

import psycopg
from django.db import connection
from psycopg import sql

from organizations.migrations._row_level_security import SCOPES
from tests.databases import superuser_url, url_of
from tests.faults.stack import Stack

NAME, PASSWORD = "service_of_tests", "only-for-tests"
GRANTS = "GRANT ALL ON ALL TABLES IN SCHEMA public TO {0}; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {0}"
# The service may take on the roles that row-level security uses, as if it owned the tables.
SCOPE_ROLE = "CREATE ROLE {scope} NOLOGIN IN ROLE {owner_scope}; GRANT {scope} TO {0} WITH INHERIT FALSE, SET TRUE"
TERMINATE = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = {2}"
PLACEHOLDERS = [sql.Identifier(NAME), sql.Literal(PASSWORD), sql.Literal(NAME)]


class ServiceRole:
    """A role that is not a superuser: for superusers PostgreSQL reserves connections, and they ignore most limits."""

    def __init__(self, stack: Stack) -> None:
        database = connection.settings_dict
        address = f"{database['HOST']}:{database['PORT']}/{database['NAME']}"
        stack.settings["DATABASE_URL"] = f"postgres://{NAME}:{PASSWORD}@{address}"

    def __enter__(self) -> "ServiceRole":
        self.execute("CREATE ROLE {0} LOGIN BYPASSRLS PASSWORD {1}")
        self.execute(GRANTS)
        for role in SCOPES:
            owner_scope = f"{connection.settings_dict['USER']}_{role}"
            self.execute(SCOPE_ROLE, scope=f"{NAME}_{role}", owner_scope=owner_scope)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.forbid_login()
        for role in SCOPES:
            self.execute("DROP ROLE {scope}", scope=f"{NAME}_{role}")
        self.execute("DROP OWNED BY {0}; DROP ROLE {0}")

    def forbid_login(self) -> None:
        """Refuse every new connection."""
        self.alter("NOLOGIN")

    def limit_connections(self, count: int) -> None:
        """Let PostgreSQL refuse more than `count` connections."""
        self.alter(f"CONNECTION LIMIT {count}")

    def forbid_writes(self) -> None:
        """Make every transaction read-only, as on a standby."""
        self.alter("SET default_transaction_read_only = on")

    def restore(self) -> None:
        """Allow everything again, on connections that are opened from now on."""
        self.execute("ALTER ROLE {0} RESET default_transaction_read_only; ALTER ROLE {0} LOGIN CONNECTION LIMIT -1")

    def alter(self, change: str) -> None:
        """Alter the role and end its connections, so that the change takes effect at once."""
        self.execute("ALTER ROLE {0} " + change)
        self.execute(TERMINATE)

    def execute(self, statements: str, **roles: str) -> None:
        """Run statements as the superuser, since the tests' own role may not create others."""
        identifiers = {placeholder: sql.Identifier(role) for placeholder, role in roles.items()}
        url = superuser_url(url_of(connection.settings_dict))
        with psycopg.connect(url, autocommit=True) as server:
            for statement in statements.split(";"):
                server.execute(sql.SQL(statement).format(*PLACEHOLDERS, **identifiers))
