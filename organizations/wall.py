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
from django.http import HttpRequest, HttpResponse
from psycopg.pq import TransactionStatus

from pipeline_backend.rows import Fixed, Row, Slot

SETTING = "pipeline.organizations"
TENANT, STAFF = "tenant", "staff"
NO_ROLE = "set_config('role', 'none', false)"
# Roles belong to a whole cluster, so each login has two of its own.
ROLE = "set_config('role', session_user::text || '_{role}', false)"
TELL = {
    role: f"SELECT {ROLE.format(role=role) if role else NO_ROLE}, set_config('{SETTING}', %s, false)"  # the words are ours
    for role in (TENANT, STAFF, "")
}


@dataclass(frozen=True)
class Whom:
    """For whom the database works: a role ("" for the owner), and the organizations as its policy reads them."""

    role: str
    organizations: str = ""


ALL = Whom("")
OUTSIDE = Whom("")  # as `ALL`, and not in a request
NOBODY = Whom(TENANT)
UNDECIDED = Whom("undecided")  # the statement itself says it

serving: ContextVar[Whom] = ContextVar("serving", default=OUTSIDE)


def serve(whom: Whom) -> None:
    """From now on this request is for them; outside of a request nothing changes."""
    if serving.get() is not OUTSIDE:
        serving.set(whom)


def tenant(organization_id: UUID) -> Whom:
    """One organization."""
    return Whom(TENANT, str(organization_id))


def staff(organization_ids: Iterable[UUID]) -> Whom:
    """A person's organizations."""
    return Whom(STAFF, "{" + ",".join(map(str, organization_ids)) + "}")


@contextmanager
def lifted(whom: Whom = ALL) -> Iterator[None]:
    """The wall is down in here, for what is rightly asked of all organizations; a test lists every place."""
    before = serving.get()
    serve(whom)
    try:
        yield
    finally:
        serve(before)


class SecondWall:
    """Middleware, outermost of those that ask the database: a request begins as nobody's."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        guard()
        token = serving.set(NOBODY)
        try:
            return self.get_response(request)
        finally:
            serving.reset(token)


class Guard:
    """Stands before every statement of a connection, and knows what the connection was told."""

    def __init__(self) -> None:
        self.line: Any = None
        self.told = OUTSIDE
        self.blocks: list[Any] = []

    def __call__(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
        whom = serving.get()
        if whom is not UNDECIDED and not self.has_told(whom, context["connection"]):
            self.tell(whom, context["connection"])
        return execute(sql, params, many, context)

    def has_told(self, whom: Whom, db: Any) -> bool:
        """Whether the database works for them now. What was said in a transaction that has ended may be undone with it."""
        if self.line is not db.connection:
            self.note(OUTSIDE, db)  # a new connection is the owner's
            self.blocks = []
        return self.told == whom and db.atomic_blocks[: len(self.blocks)] == self.blocks

    def tell(self, whom: Whom, db: Any) -> None:
        """One statement more; a transaction that has failed takes none but its end."""
        if db.connection.info.transaction_status == TransactionStatus.INERROR:
            return
        with db.wrap_database_errors:
            db.connection.execute(TELL[whom.role], [whom.organizations])
        self.note(whom, db)

    def note(self, whom: Whom, db: Any) -> None:
        """Remember what the connection was told, and in which transactions."""
        self.line, self.told, self.blocks = db.connection, whom, list(db.atomic_blocks)


def guard() -> Guard:
    """The guard of this thread's connection; the first of its wrappers, so that it stands behind those of others."""
    known = next((wrapper for wrapper in connection.execute_wrappers if isinstance(wrapper, Guard)), None)
    if known is None:
        known = Guard()
        connection.execute_wrappers.insert(0, known)
    return known


class Opening(Fixed[Row]):
    """Finds a key whoever is served, and in the same statement tells the database to work for its organization.

    `organizations_key` and `organizations_of_key` are functions of the owner: in the query they stand in the place of
    the tables, of which nobody sees a row before.
    """

    tables = "WITH organizations_apikey AS (SELECT * FROM organizations_key(%s)), organizations_organization AS (SELECT * FROM organizations_of_key(%s)) "

    @cached_property
    def compiled(self) -> Any:
        """The query over what the functions find."""
        sql, parameters, converters, build = super().compiled
        return self.tables + sql, [Slot("key_id"), Slot("key_id"), *parameters], converters, build

    def find(self, key_id: str) -> Row | None:
        """The key, if there is one."""
        with lifted(UNDECIDED):
            found = self.first(key_id=key_id)
        if found is not None:
            guard().note(tenant(found.organization_id), connection)  # type: ignore[attr-defined]  # a tenant's row
        return found


def telling(organization: str) -> dict[str, Any]:
    """Annotations by which a query tells the database to work for the row's organization."""
    role = Func(template=ROLE.format(role=TENANT), output_field=TextField())
    whose = Func(Cast(F(organization), TextField()), template=f"set_config('{SETTING}', %(expressions)s, false)", output_field=TextField())
    return {"told_role": role, "told_organization": whose}
