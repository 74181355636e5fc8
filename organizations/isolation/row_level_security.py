"""The second wall: while somebody is served, PostgreSQL itself shows and takes the rows of their organizations alone.

A request works as one of two database roles that own nothing, so the policies of `policies` apply to it: `tenant` for
one organization, `staff` for a person's several. Until it is known who asks, it is a tenant without an organization
and sees nothing. Workers, commands and operators work as the owner of the tables, whom no policy concerns.

What a connection was told last is remembered beside it; it is told anew before the next statement that is meant for
somebody else. So no request inherits anything, and a kept connection costs no round trip more.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, Func, TextField
from django.db.models.functions import Cast
from psycopg.pq import TransactionStatus

from pipeline_backend.db.compiled import CompiledQuery, CompiledStatement, Param, Row

SETTING = "pipeline.organizations"
TENANT, STAFF = "tenant", "staff"
NO_ROLE = "set_config('role', 'none', false)"
# Roles belong to a whole cluster, so each login has two of its own.
ROLE = "set_config('role', session_user::text || '_{role}', false)"
SET_SCOPE_SQL = {
    role: f"SELECT {ROLE.format(role=role) if role else NO_ROLE}, set_config('{SETTING}', %s, false)"  # the words are ours
    for role in (TENANT, STAFF, "")
}


@dataclass(frozen=True)
class DatabaseScope:
    """For whom the database works: a role ("" for the owner), and the organizations as its policy reads them."""

    role: str
    organizations: str = ""


OWNER_SCOPE = DatabaseScope("")
NO_REQUEST = DatabaseScope("")  # as `ALL`, and not in a request
NO_TENANT = DatabaseScope(TENANT)
SET_BY_QUERY = DatabaseScope("undecided")  # the statement itself says it

current_scope: ContextVar[DatabaseScope] = ContextVar("serving", default=NO_REQUEST)


def set_scope(whom: DatabaseScope) -> None:
    """From now on this request is for them; outside of a request nothing changes."""
    if current_scope.get() is not NO_REQUEST:
        current_scope.set(whom)


def tenant_scope(organization_id: UUID) -> DatabaseScope:
    """One organization."""
    return DatabaseScope(TENANT, str(organization_id))


def staff_scope(organization_ids: Iterable[UUID]) -> DatabaseScope:
    """A person's organizations."""
    return DatabaseScope(STAFF, "{" + ",".join(map(str, organization_ids)) + "}")


@contextmanager
def bypass_rls(whom: DatabaseScope = OWNER_SCOPE) -> Iterator[None]:
    """The wall is down in here, for what is rightly asked of all organizations; a test lists every place."""
    before = current_scope.get()
    set_scope(whom)
    try:
        yield
    finally:
        set_scope(before)


class ScopeWrapper:
    """Stands before every statement of a connection, and knows what the connection was told."""

    def __init__(self) -> None:
        self.line: Any = None
        self.told = NO_REQUEST
        self.blocks: list[Any] = []

    def __call__(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
        whom = current_scope.get()
        if whom is not SET_BY_QUERY and not self.has_told(whom, context["connection"]):
            self.tell(whom, context["connection"])
        return execute(sql, params, many, context)

    def has_told(self, whom: DatabaseScope, db: Any) -> bool:
        """Whether the database works for them now. What was said in a transaction that has ended may be undone with it."""
        if self.line is not db.connection:
            self.note(NO_REQUEST, db)  # a new connection is the owner's
            self.blocks = []
        return self.told == whom and db.atomic_blocks[: len(self.blocks)] == self.blocks

    def tell(self, whom: DatabaseScope, db: Any) -> None:
        """One statement more; a transaction that has failed takes none but its end."""
        if db.connection.info.transaction_status == TransactionStatus.INERROR:
            return
        with db.wrap_database_errors:
            db.connection.execute(SET_SCOPE_SQL[whom.role], [whom.organizations])
        self.note(whom, db)

    def note(self, whom: DatabaseScope, db: Any) -> None:
        """Remember what the connection was told, and in which transactions."""
        self.line, self.told, self.blocks = db.connection, whom, list(db.atomic_blocks)


def scope_wrapper() -> ScopeWrapper:
    """The guard of this thread's connection; the first of its wrappers, so that it stands behind those of others."""
    known = next((wrapper for wrapper in connection.execute_wrappers if isinstance(wrapper, ScopeWrapper)), None)
    if known is None:
        known = ScopeWrapper()
        connection.execute_wrappers.insert(0, known)
    return known


class ApiKeyLookup(CompiledQuery[Row]):
    """Finds a key whoever is served, and in the same statement tells the database to work for its organization.

    `organizations_key` and `organizations_of_key` are functions of the owner: in the query they stand in the place of
    the tables, of which nobody sees a row before.
    """

    tables = "WITH organizations_apikey AS (SELECT * FROM organizations_key(%s)), organizations_organization AS (SELECT * FROM organizations_of_key(%s)) "

    @cached_property
    def statement(self) -> CompiledStatement:
        """The query over what the functions find."""
        statement = super().statement
        return statement._replace(
            sql=self.tables + statement.sql, params=[Param("key_id"), Param("key_id"), *statement.params]
        )

    def find(self, key_id: str) -> Row | None:
        """The key, if there is one."""
        with bypass_rls(SET_BY_QUERY):
            found = self.first(key_id=key_id)
        if found is not None:
            scope_wrapper().note(tenant_scope(found.organization_id), connection)  # type: ignore[attr-defined]  # a tenant's row
        return found


def set_scope_annotations(organization: str) -> dict[str, Any]:
    """Annotations by which a query tells the database to work for the row's organization."""
    role = Func(template=ROLE.format(role=TENANT), output_field=TextField())
    whose = Func(
        Cast(F(organization), TextField()),
        template=f"set_config('{SETTING}', %(expressions)s, false)",
        output_field=TextField(),
    )
    return {"told_role": role, "told_organization": whose}
