"""Tenant isolation: no request ever reads or changes another organization's rows.

The constraints, in order of importance:

1. A forgotten filter must not leak: code that names no organization fails or finds only the request's own rows.
2. The scope of one request never reaches the next, over a persistent connection, after an exception or after a 401.
3. References stay inside an organization, also those written by workers, operators or a SQL shell.
4. It costs an API request no extra round trip to the database.
5. The same code runs in requests, workers, commands and tests, without a scope to open or close by hand.

Two layers follow from these:

**The guarded manager** (`tenancy`). Every tenant row is a `TenantModel`, and `Model.objects` answers only to
`objects.of(organization)` and `objects.create(organization=…)`; anything else raises `UnscopedQuery`. Reading across
organizations takes the word `unscoped`, and a test lists the files that may use it. It sees neither raw SQL nor
Django's own default managers.

**Row-level security** (`row_level_security`). PostgreSQL itself enforces the policies on every tenant table. A request
runs as one of two roles that own nothing: `<login>_tenant` for an API key (one organization) or `<login>_staff` for a
member in the admin (one or several). The setting `pipeline.organizations` holds the organizations' ids, and the
policies compare it with each row. There are two roles because the planner handles `organization_id = <id>`, which the
API needs, much better than `= ANY (<ids>)`. Policies don't cover foreign keys, since PostgreSQL checks those as the
tables' owner: composite foreign keys, `(organization_id, lead_id)`, satisfy constraint 3.

What happens during a request:

1. `TenantScopeMiddleware` installs the `ScopeWrapper` on the thread's connection and sets the scope `NO_TENANT`: the
   tenant role without an organization, which sees no tenant row at all.
2. API: `ApiKeyLookup` finds the key through a function of the owner and switches role and setting in that same
   statement. From then on the scope is the key's organization.
3. Admin: `StaffMiddleware` sets the organizations of the signed-in user's memberships, or an operator's scope.
4. Before each statement the `ScopeWrapper` applies the request's scope, if the connection has another: after a new
   connection, a rollback or another request. The statement time-out, shorter in the admin, is part of the scope.
5. When the request ends, the scope is reset. The connection keeps its role until the next statement corrects it.

Deliberately outside: workers, commands, migrations, dumps and operators (superusers in the admin) run as the tables'
owner, which no policy restricts, as do the places that call `bypass_rls()`, which a test lists. None of this protects
against SQL injection: injected statements can also run `RESET ROLE`.

Behind a connection pooler in transaction mode (`DATABASE_POOLER=transaction`), the session belongs to another client
after each transaction. Then step 2 switches nothing, and step 4 sets the scope for one transaction only: with its first
statement, or, outside of a transaction, in a pipeline with each statement.

Other packages import from here only. A new tenant model inherits `TenantModel` and refers to others by
`TenantForeignKey`, and its migration calls `enable_rls` and `composite_foreign_keys`; a test fails without them.
docs/decisions/0004 has measurements and rejected alternatives.
"""

from organizations.isolation.row_level_security import bypass_rls
from organizations.isolation.tenancy import TenantForeignKey, TenantModel, TenantQuerySet, UnscopedQuery, tenant_manager
