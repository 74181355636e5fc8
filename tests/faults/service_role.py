"""The service as a database role of its own, which PostgreSQL can be told to refuse."""

from types import TracebackType

from django.db import connection
from psycopg import sql

from organizations.migrations._row_level_security import SCOPES
from tests.faults.stack import Stack

NAME, PASSWORD = "service_of_tests", "only-for-tests"
GRANTS = "GRANT ALL ON ALL TABLES IN SCHEMA public TO {0}; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {0}"
# As if it owned the tables: no policy concerns it, and it may serve as the owner's roles do.
SERVING = "CREATE ROLE {serving} NOLOGIN IN ROLE {owners}; GRANT {serving} TO {0} WITH INHERIT FALSE, SET TRUE"
CUT_OFF = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = %s"


class ServiceRole:
    """No superuser, for whom PostgreSQL keeps places free and doors open."""

    def __init__(self, stack: Stack) -> None:
        own = connection.settings_dict
        stack.settings["DATABASE_URL"] = f"postgres://{NAME}:{PASSWORD}@{own['HOST']}:{own['PORT']}/{own['NAME']}"

    def __enter__(self) -> "ServiceRole":
        self.tell("CREATE ROLE {0} LOGIN BYPASSRLS PASSWORD {1}")
        self.tell(GRANTS)
        for role in SCOPES:
            self.tell(SERVING, serving=f"{NAME}_{role}", owners=f"{connection.settings_dict['USER']}_{role}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shut_out()
        for role in SCOPES:
            self.tell("DROP ROLE {serving}", serving=f"{NAME}_{role}")
        self.tell("DROP OWNED BY {0}; DROP ROLE {0}")

    def shut_out(self) -> None:
        """It may not come in any more."""
        self.change("NOLOGIN")

    def limit_to(self, connections: int) -> None:
        """It finds no place for more than so many connections at a time."""
        self.change(f"CONNECTION LIMIT {connections}")

    def forbid_writes(self) -> None:
        """It is as if connected to a standby."""
        self.change("SET default_transaction_read_only = on")

    def heal(self) -> None:
        """It may do everything again, on connections that it opens from now on."""
        self.tell("ALTER ROLE {0} RESET default_transaction_read_only; ALTER ROLE {0} LOGIN CONNECTION LIMIT -1")

    def change(self, how: str) -> None:
        """From now on, for which it has to connect anew."""
        self.tell("ALTER ROLE {0} " + how)
        with connection.cursor() as cursor:
            cursor.execute(CUT_OFF, [NAME])

    def tell(self, statements: str, **names: str) -> None:
        known = {word: sql.Identifier(name) for word, name in names.items()}
        with connection.cursor() as cursor:
            for statement in statements.split(";"):
                cursor.execute(sql.SQL(statement).format(sql.Identifier(NAME), sql.Literal(PASSWORD), **known))
