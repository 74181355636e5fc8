"""Every row belongs to an organization, every query names the organization, and PostgreSQL enforces it.

The queries are guarded by the tenant manager, and the database by row-level security; see `organizations.isolation`.
"""

import re
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.db.models import Model

from appointments.models import Note
from organizations.isolation import TenantModel, UnscopedQuery
from organizations.migrations._row_level_security import create_roles
from organizations.models import Organization, SecurityEvent, User
from tests.databases import connected_to, superuser_url, url_of

ROOT = Path(__file__).resolve().parents[2]
APPS = ["organizations", "statuses", "webhooks", "notifications", "leads", "optins", "appointments"]
MODELS = [model for app in APPS for model in apps.get_app_config(app).get_models()]
TENANT_MODELS = [model for model in MODELS if issubclass(model, TenantModel)]
# Models without an organization of their own: accounts, and what belongs to an account.
ACCOUNT_MODELS = {
    "Organization",
    "User",
    "PasswordReset",
    "SecurityEvent",
    "SecurityNotice",
    "Session",
    "TotpDevice",
    "RecoveryCode",
}
PROTECTED_MODELS = [*TENANT_MODELS, Organization, User, SecurityEvent, LogEntry, Note.mention_users.through]

# The files that may read the rows of all organizations through `unscoped`, and why.
UNSCOPED_ALLOWED = {
    "foundation/outbox/queue.py": "workers send the jobs of every organization",
    "pipeline_backend/web/warm_up.py": "a process looks up, before its first request, which key was used last",
    "pipeline_backend/web/metrics.py": "metrics sum up all organizations, and name none",
    "webhooks/queue.py": "a worker looks up which organization an endpoint belongs to",
    "organizations/authentication.py": "the organization is known only when the key has been found",
    "organizations/security_log.py": "an owner sees the sign-ins of members of the organizations that the owner has",
    "dev/local/inbox.py": "the local inbox verifies the signatures of any endpoint",
    "accounts/invitations.py": "an invitation's link says which organization it belongs to",
}

# The files that may bypass row-level security during a request, and why.
BYPASS_ALLOWED = {
    "organizations/authentication.py": "the list of live keys, which no request sees, is of all organizations",
    "organizations/models/users.py": "a user's memberships say which organizations the user works in",
    "organizations/events.py": "a person's name is shown in every organization that they are or were a member of",
    "accounts/middleware.py": "the scope of a request follows from the user who is signed in",
    "leads/privacy/history.py": "requests may only add to the admin's history; erasing a lead deletes what names it",
    "leads/privacy/imported_rows.py": "with policies PostgreSQL can't use the index that finds a lead's imported rows",
    "organizations/idempotency.py": "with policies PostgreSQL can't use the index that finds responses about a lead",
    "appointments/calendar_feed.py": "a calendar's address says whose rows it may see: those of its organization",
    "appointments/unsubscribe_views.py": "a lead's link says whose rows it may see: those of its organization",
    "notifications/views.py": "an unsubscribe link says whose rows it may see: those of its organization",
    "organizations/security_log.py": "a failed sign-in looks for the account; notices are closed to requests",
    "accounts/two_factor.py": "keys and recovery codes are closed to requests but for this module",
    "accounts/pages.py": "a link identifies person and organization, before anybody is signed in",
    "staff/site.py": "signing in looks for the user",
    "dev/local/inbox.py": "the local inbox verifies the signatures of any endpoint",
    "pipeline_backend/web/metrics.py": "metrics sum up all organizations, and name none",
    "pipeline_backend/web/health.py": "the health check looks for a backlog of any organization, and names none",
}

# Tables without row-level security that the roles may read: Django's own, and sessions, which are read before the user
# is known. None has an organization's rows.
UNPROTECTED_TABLES = {
    "auth_group",
    "auth_group_permissions",
    "auth_permission",
    "django_content_type",
    "django_session",
    "organizations_session",
    "organizations_user_groups",
    "organizations_user_user_permissions",
}

READABLE_WITHOUT_ROW_LEVEL_SECURITY = """
    SELECT relname
    FROM pg_class
    WHERE relkind IN ('r', 'p', 'v', 'm')
        AND NOT relrowsecurity
        AND relnamespace = current_schema()::regnamespace
        AND (
            has_table_privilege(session_user || '_tenant', oid, 'SELECT')
            OR has_table_privilege(session_user || '_staff', oid, 'SELECT')
        )
"""
FOREIGN_KEYS = """
    SELECT conname
    FROM pg_constraint
    JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[cardinality(conkey)]
    WHERE conrelid = %s::regclass AND contype = 'f' AND convalidated AND attname = ANY(%s)
"""


def files_matching(pattern: str) -> set[str]:
    """Return the product's Python files that contain the pattern, without migrations."""
    return {
        str(path.relative_to(ROOT))
        for package in [*APPS, "foundation", "accounts", "staff", "pipeline_backend", "dev"]
        for path in (ROOT / package).rglob("*.py")
        if "migrations" not in path.parts and re.search(pattern, path.read_text())
    }


def test_every_model_but_those_of_accounts_belongs_to_an_organization() -> None:
    others = {model.__name__ for model in MODELS} - {model.__name__ for model in TENANT_MODELS}

    assert others == ACCOUNT_MODELS


@pytest.mark.parametrize("model", TENANT_MODELS, ids=lambda model: model.__name__)
def test_a_query_that_names_no_organization_raises(model: type[TenantModel]) -> None:
    for method in ("all", "count", "exists", "first"):
        with pytest.raises(UnscopedQuery):
            getattr(model.objects, method)()


@pytest.mark.parametrize("model", TENANT_MODELS, ids=lambda model: model.__name__)
def test_django_itself_uses_the_unscoped_manager(model: type[TenantModel]) -> None:
    assert model._default_manager.name == "unscoped"
    assert model._base_manager.name == "unscoped"


def test_unscoped_queries_are_only_in_the_allowed_files() -> None:
    # Writes of rows that have their organization, and reads by a row of one organization, are not unscoped in effect.
    scoped_by_a_row = r"filter\((?:organization|appointment|opt_in|lead|mentioned_in|pk__in)="
    files = files_matching(rf"unscoped\.(?!bulk_create)(?!{scoped_by_a_row})")

    # Pages have their own test: tests/hostile opens each with another organization's ids. Commands and the demo are run
    # by operators, who may see everything.
    checked = {file for file in files if not {"demo", "commands", "staff"} & set(Path(file).parts)}

    assert checked <= set(UNSCOPED_ALLOWED), checked - set(UNSCOPED_ALLOWED)


@pytest.mark.parametrize("model", PROTECTED_MODELS, ids=lambda model: model._meta.db_table)
def test_every_table_with_an_organizations_rows_has_row_level_security(model: type[Model], db: None) -> None:
    """A new model needs `enable_rls` in its migration (organizations/migrations/_row_level_security.py)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relrowsecurity FROM pg_class WHERE oid = %s::regclass", [model._meta.db_table])
        enabled = cursor.fetchone()
        cursor.execute(
            "SELECT policyname FROM pg_policies WHERE tablename = %s AND permissive = 'PERMISSIVE'",
            [model._meta.db_table],
        )
        policies = {name for (name,) in cursor.fetchall()}

    commands = ("select", "insert", "update", "delete")
    assert enabled == (True,)
    assert policies == {f"{role}_{command}" for role in ("tenant", "staff") for command in commands}


def test_without_row_level_security_the_roles_can_read_only_tables_without_an_organizations_rows(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(READABLE_WITHOUT_ROW_LEVEL_SECURITY)
        tables = {name for (name,) in cursor.fetchall()}

    assert tables == UNPROTECTED_TABLES


@pytest.mark.parametrize("model", TENANT_MODELS, ids=lambda model: model.__name__)
def test_every_foreign_key_stays_within_the_organization(model: type[TenantModel], db: None) -> None:
    """A new foreign key is a `TenantForeignKey`, and needs `composite_foreign_keys` in its migration."""
    table = model._meta.db_table
    foreign_keys = [
        field
        for field in model._meta.concrete_fields
        if field.is_relation and issubclass(field.related_model, TenantModel)
    ]

    with connection.cursor() as cursor:
        cursor.execute(FOREIGN_KEYS, [table, [field.column for field in foreign_keys]])
        constraints = sorted(name for (name,) in cursor.fetchall())

    # No plain key is beside a composite one.
    assert constraints == sorted(f"{table}_{field.column}_same_organization" for field in foreign_keys)


def test_row_level_security_is_bypassed_only_in_the_allowed_files() -> None:
    files = files_matching(r"with bypass_rls\(")

    assert {file for file in files if Path(file).name != "row_level_security.py"} == set(BYPASS_ALLOWED)


@pytest.mark.django_db(transaction=True)
def test_a_database_user_who_may_not_create_roles_is_told_which_sql_to_run() -> None:
    with connected_to(superuser_url(url_of(connection.settings_dict))), transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("CREATE ROLE modest; SET SESSION AUTHORIZATION modest")
        with pytest.raises(CommandError) as raised:
            create_roles(None, connection.schema_editor())
        with connection.cursor() as cursor:
            cursor.execute("RESET SESSION AUTHORIZATION")
        transaction.set_rollback(True)

    assert (
        "CREATE ROLE modest_tenant NOLOGIN; CREATE ROLE modest_staff NOLOGIN; "
        "GRANT modest_tenant, modest_staff TO modest;"
    ) in str(raised.value)


def test_organizations_themselves_can_be_queried_without_a_scope(
    organization: Organization, other_organization: Organization
) -> None:
    assert Organization.objects.count() == 2
