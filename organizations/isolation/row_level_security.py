"""Row-level security at run time: which PostgreSQL role and organizations each statement of a request runs with.

`organizations.isolation` explains the whole. Migrations create the policies.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Func, TextField
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast
from django.http import HttpRequest, HttpResponse
from psycopg.errors import QueryCanceled
from psycopg.pq import TransactionStatus

from foundation.db.compiled import CompiledQuery, CompiledStatement, Param, Row

OWNER, TENANT, STAFF = "owner", "tenant", "staff"
# PostgreSQL's roles belong to the whole cluster, so each login has two of its own, named after it. 'none' is the login
# itself, which owns the tables: no policy restricts it.
ROLE_NAMES = {OWNER: "'none'", TENANT: "session_user::text || '_tenant'", STAFF: "session_user::text || '_staff'"}
SETTING = "pipeline.organizations"
# Behind a pooler in transaction mode, the session belongs to another client as soon as the transaction has ended. So
# a scope is set for one transaction only: the third argument of set_config().
IS_POOLED = settings.DATABASE_POOLER == "transaction"
IS_LOCAL = "true" if IS_POOLED else "false"
SET_SCOPE_SQL = {
    role: (
        f"SELECT set_config('role', {name}, {IS_LOCAL}), set_config('{SETTING}', %s, {IS_LOCAL}), "
        f"set_config('statement_timeout', %s, {IS_LOCAL}), set_config('transaction_timeout', %s, {IS_LOCAL})"
    )
    for role, name in ROLE_NAMES.items()
}


@dataclass(frozen=True)
class DatabaseScope:
    """A request's role, organizations (one id for a tenant, an array for staff) and time-outs."""

    role: str
    organization_ids: str = ""
    statement_seconds: int = settings.STATEMENT_SECONDS

    @property
    def transaction_seconds(self) -> int:
        """The time-out of a transaction; 0 is none."""
        is_page = self.statement_seconds == settings.ADMIN_STATEMENT_SECONDS
        return settings.ADMIN_TRANSACTION_SECONDS if is_page else 0


OWNER_SCOPE = DatabaseScope(OWNER)
# Equal to OWNER_SCOPE, but another object: it marks that no request is running, so `set_scope` has no effect.
NO_REQUEST = DatabaseScope(OWNER)
NO_TENANT = DatabaseScope(TENANT)
NO_TENANT_IN_ADMIN = DatabaseScope(TENANT, statement_seconds=settings.ADMIN_STATEMENT_SECONDS)
# The statement sets role and organization itself (ApiKeyLookup), so nothing may be set before it.
SET_BY_QUERY = DatabaseScope("set by query")
# What a connection has is not known: a value that equals no scope.
UNKNOWN = DatabaseScope("unknown")

current_scope: ContextVar[DatabaseScope] = ContextVar("current_scope", default=NO_REQUEST)
# Until when, by `monotonic()`, a page that only reads may send statements: each has a time-out, but they can be many.
page_deadline: ContextVar[float | None] = ContextVar("page_deadline", default=None)


def set_scope(scope: DatabaseScope) -> None:
    """Use this scope for the rest of the request, with the request's time-out. Does nothing outside of requests."""
    current = current_scope.get()
    if current is NO_REQUEST:
        return
    if scope.statement_seconds != current.statement_seconds:
        scope = replace(scope, statement_seconds=current.statement_seconds)
    current_scope.set(scope)


def lift_page_deadline() -> None:
    """Let the page take as long as it needs, as an export may."""
    page_deadline.set(None)


def check_page_deadline() -> None:
    """Raise what PostgreSQL's own time-out of a statement would."""
    deadline = page_deadline.get()
    if deadline is not None and monotonic() > deadline:
        lift_page_deadline()  # for the statements that end the request
        raise OperationalError("The page took too long") from QueryCanceled("The page took too long")


def tenant_scope(organization_id: UUID) -> DatabaseScope:
    return DatabaseScope(TENANT, str(organization_id))


def staff_scope(organization_ids: Iterable[UUID]) -> DatabaseScope:
    return DatabaseScope(STAFF, "{" + ",".join(map(str, organization_ids)) + "}")


@contextmanager
def bypass_rls(scope: DatabaseScope = OWNER_SCOPE) -> Iterator[None]:
    """Run the block's statements without policies. A test lists every place that uses it, with the reason."""
    previous = current_scope.get()
    set_scope(scope)
    try:
        yield
    finally:
        set_scope(previous)


class ScopeWrapper:
    """Execute wrapper that applies the request's scope to its connection before a statement, if it differs."""

    def __init__(self) -> None:
        self.connection: Any = None
        self.applied = NO_REQUEST
        self.atomic_blocks: list[Any] = []

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: object, many: bool, context: dict[str, Any]
    ) -> Any:  # noqa: ANN401  # whatever the wrapped function returns
        check_page_deadline()
        scope, db = current_scope.get(), context["connection"]
        if self.is_applied(scope, db) or scope.role == SET_BY_QUERY.role:
            return execute(sql, params, many, context)
        # Unless a transaction is open, PostgreSQL runs what a pipeline sends as one. It takes a single round trip.
        pipeline = db.connection.pipeline() if IS_POOLED else nullcontext()
        with db.wrap_database_errors, pipeline:
            self.apply(scope, db)
            return execute(sql, params, many, context)

    def is_applied(self, scope: DatabaseScope, db: BaseDatabaseWrapper) -> bool:
        if self.connection is not db.connection:
            # Django has reconnected, and a new connection starts as the owner.
            self.remember(NO_REQUEST, db)
            self.atomic_blocks = []
        if (IS_POOLED or self.atomic_blocks) and db.connection.pgconn.transaction_status == TransactionStatus.IDLE:
            # The transaction in which the scope was applied has ended, and may have undone it. The blocks below don't
            # show that the next one is another: a function with the decorator enters the same block with every call.
            self.remember(UNKNOWN, db)
            return False
        # Rolling back a transaction or savepoint also undoes a set_config() in it. So a scope counts only while all the
        # blocks are open in which it was applied.
        return self.applied == scope and db.atomic_blocks[: len(self.atomic_blocks)] == self.atomic_blocks

    def apply(self, scope: DatabaseScope, db: BaseDatabaseWrapper) -> None:
        if db.connection.info.transaction_status == TransactionStatus.INERROR:
            # A failed transaction accepts nothing but its end, and the caller's own statement reports that best.
            return
        # Directly on psycopg's connection: a Django cursor would call this wrapper again.
        seconds = [scope.statement_seconds, scope.transaction_seconds]
        db.connection.execute(SET_SCOPE_SQL[scope.role], [scope.organization_ids, *(f"{value}s" for value in seconds)])
        self.remember(scope, db)

    def remember(self, scope: DatabaseScope, db: BaseDatabaseWrapper) -> None:
        self.connection, self.applied, self.atomic_blocks = db.connection, scope, list(db.atomic_blocks)


def scope_wrapper() -> ScopeWrapper:
    """Return this thread's wrapper. Installed first, because Django's `execute_wrapper()` removes the last one."""
    for wrapper in connection.execute_wrappers:
        if isinstance(wrapper, ScopeWrapper):
            return wrapper
    wrapper = ScopeWrapper()
    connection.execute_wrappers.insert(0, wrapper)
    return wrapper


class TenantScopeMiddleware:
    """Sets the scope `NO_TENANT` until the organization is known. Comes before all that use the database."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        scope_wrapper()  # Django may have made a new connection object for this thread since the last request
        # The admin's statements time out sooner, so that no page keeps a thread and a database process for long.
        # Set directly: `set_scope` has no effect before a request has a scope.
        is_page, seconds = request.path_info.startswith("/admin/"), settings.ADMIN_TRANSACTION_SECONDS
        token = current_scope.set(NO_TENANT_IN_ADMIN if is_page else NO_TENANT)
        # What writes is limited by its transactions, so that none is done by half.
        is_limited = is_page and request.method != "POST" and seconds
        deadline_token = page_deadline.set(monotonic() + seconds if is_limited else None)
        try:
            return self.get_response(request)
        finally:
            page_deadline.reset(deadline_token)
            current_scope.reset(token)


class ApiKeyLookup(CompiledQuery[Row]):
    """A query for an API key that also switches to the scope of the key's organization, in the same statement.

    Before that no row is visible, so two functions of the tables' owner, which find rows by key id, replace the tables.
    """

    owner_functions = """
        WITH organizations_apikey AS (SELECT * FROM organizations_key(%s)),
             organizations_organization AS (SELECT * FROM organizations_of_key(%s))
        """

    def compile(self) -> CompiledStatement:
        statement = super().compile()
        return statement._replace(
            sql=self.owner_functions + statement.sql, params=[Param("key_id"), Param("key_id"), *statement.params]
        )

    def find(self, key_id: str) -> Row | None:
        """Return the key, or None. If it exists, the connection has its organization's scope from now on."""
        with bypass_rls(SET_BY_QUERY):
            key = self.first(key_id=key_id)
        if key is not None:
            scope = tenant_scope(key.organization_id)  # type: ignore[attr-defined]  # a tenant row
            scope_wrapper().remember(scope, connection)
        return key


def set_config(name: str, value: str, *expressions: Combinable) -> Func:
    return Func(*expressions, template=f"set_config('{name}', {value}, {IS_LOCAL})", output_field=TextField())


# Annotations that let a query of a tenant model set the scope to the row's organization.
SET_SCOPE_ANNOTATIONS = {
    "scope_role": set_config("role", ROLE_NAMES[TENANT]),
    "scope_organization": set_config(SETTING, "%(expressions)s", Cast(F("organization_id"), TextField())),
    # A page of the admin may have used the connection before, with shorter time-outs.
    "scope_timeout": set_config("statement_timeout", f"'{settings.STATEMENT_SECONDS}s'"),
    "scope_transaction": set_config("transaction_timeout", "'0'"),
}
