"""Every row belongs to an organization, and every query says whose rows it wants."""

import re
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.core.management.base import CommandError
from django.db import connection
from django.db.models import Model

from appointments.models import Note
from organizations.isolation import TenantModel, UnscopedQuery
from organizations.migrations._row_level_security import create_roles
from organizations.models import Organization, User

ROOT = Path(__file__).resolve().parents[2]
OURS = ["organizations", "statuses", "webhooks", "notifications", "leads", "optins", "appointments"]
MODELS = [model for app in OURS for model in apps.get_app_config(app).get_models()]
TENANTS = [model for model in MODELS if issubclass(model, TenantModel)]
# Where rows of all organizations are rightly read or written, and why.
UNSCOPED = {
    "pipeline_backend/outbox/queue.py": "the sweep serves every organization",
    "organizations/authentication.py": "the key says which organization it is",
    "organizations/permissions.py": "a person's memberships say which organizations they work in",
    "pipeline_backend/local/inbox.py": "the local run's inbox verifies whatever was sent to it",
}

# Where the second wall is lifted while somebody is served, and why.
LIFTED = {
    "organizations/permissions.py": "a person's memberships say which organizations they work in",
    "organizations/middleware.py": "who is signed in says for whom the request is",
    "organizations/services.py": "who is invited may have an account already",
    "organizations/admin/members.py": "a password link is not for who works elsewhere too",
    "pipeline_backend/admin/site.py": "who signs in, or has a password link, is found out",
    "pipeline_backend/local/inbox.py": "the local run's inbox verifies whatever was sent to it",
    "pipeline_backend/web/health.py": "alarms ask whether anybody's work waits, and are told no name",
}
WALLED = [*TENANTS, Organization, User, LogEntry, Note.mention_users.through]
# What Django asks for while it serves, and nobody's rows.
OPEN = {
    "auth_group",
    "auth_group_permissions",
    "auth_permission",
    "django_content_type",
    "django_session",
    "organizations_user_groups",
    "organizations_user_user_permissions",
}


def test_every_model_belongs_to_an_organization() -> None:
    others = {model.__name__ for model in MODELS} - {model.__name__ for model in TENANTS}

    assert others == {"Organization", "User"}


@pytest.mark.parametrize("model", TENANTS, ids=lambda model: model.__name__)
def test_a_query_that_names_no_organization_is_refused(model: type[TenantModel]) -> None:
    for verb in ("all", "count", "exists", "first"):
        with pytest.raises(UnscopedQuery):
            getattr(model.objects, verb)()


@pytest.mark.parametrize("model", TENANTS, ids=lambda model: model.__name__)
def test_django_itself_uses_the_plain_manager(model: type[TenantModel]) -> None:
    assert model._default_manager.name == "unscoped"
    assert model._base_manager.name == "unscoped"


def test_unscoped_queries_stand_only_where_they_must() -> None:
    reads = re.compile(
        r"unscoped\.(?!bulk_create)(?!filter\((?:organization|appointment|opt_in|lead|mentioned_in|pk__in)=)"
    )
    found = {
        str(path.relative_to(ROOT))
        for app in [*OURS, "pipeline_backend"]
        for path in (ROOT / app).rglob("*.py")
        if not {"migrations", "demo", "commands", "admin"} & set(path.parts)
        and path.name != "admin.py"
        and reads.search(path.read_text())
    }

    assert found <= set(UNSCOPED), found - set(UNSCOPED)


@pytest.mark.parametrize("model", WALLED, ids=lambda model: model._meta.db_table)
def test_the_database_walls_every_table_of_an_organizations_rows(model: type[Model], db: None) -> None:
    """A new model needs `enable_rls` in its migration (organizations/migrations/_row_level_security.py)."""
    verbs = ("select", "insert", "update", "delete")
    with connection.cursor() as cursor:
        cursor.execute("SELECT relrowsecurity FROM pg_class WHERE oid = %s::regclass", [model._meta.db_table])
        assert cursor.fetchone() == (True,)
        cursor.execute(
            "SELECT policyname FROM pg_policies WHERE tablename = %s AND permissive = 'PERMISSIVE'",
            [model._meta.db_table],
        )
        assert {name for (name,) in cursor.fetchall()} == {
            f"{role}_{verb}" for role in ("tenant", "staff") for verb in verbs
        }


def test_the_roles_can_reach_no_table_that_is_not_walled_but_djangos_own(db: None) -> None:
    readable = "(has_table_privilege(session_user || '_tenant', oid, 'SELECT') OR has_table_privilege(session_user || '_staff', oid, 'SELECT'))"
    unwalled = (
        "relkind IN ('r', 'p', 'v', 'm') AND NOT relrowsecurity AND relnamespace = current_schema()::regnamespace"
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT relname FROM pg_class WHERE {unwalled} AND {readable}")  # noqa: S608  # the words are ours
        assert {name for (name,) in cursor.fetchall()} == OPEN


@pytest.mark.parametrize("model", TENANTS, ids=lambda model: model.__name__)
def test_every_reference_stays_within_the_organization(model: type[TenantModel], db: None) -> None:
    """A new foreign key needs `composite_foreign_keys` in its migration (organizations/migrations/_row_level_security.py)."""
    fields = [
        field
        for field in model._meta.concrete_fields
        if field.is_relation and issubclass(field.related_model, TenantModel)
    ]
    pairs = "SELECT conname FROM pg_constraint WHERE conrelid = %s::regclass AND contype = 'f' AND cardinality(conkey) = 2 AND convalidated"

    with connection.cursor() as cursor:
        cursor.execute(pairs, [model._meta.db_table])
        assert {name for (name,) in cursor.fetchall()} == {
            f"{model._meta.db_table}_{field.column}_same_organization" for field in fields
        }


def test_the_wall_is_lifted_only_where_it_must_be() -> None:
    found = {
        str(path.relative_to(ROOT))
        for app in [*OURS, "pipeline_backend"]
        for path in (ROOT / app).rglob("*.py")
        if "with bypass_rls(" in path.read_text() and path.name != "row_level_security.py"
    }

    assert found == set(LIFTED)


def test_who_may_not_make_roles_is_told_what_to_run(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE modest; SET SESSION AUTHORIZATION modest")

    with pytest.raises(CommandError) as refused:
        create_roles(None, connection.schema_editor())

    with connection.cursor() as cursor:
        cursor.execute("RESET SESSION AUTHORIZATION")
    assert (
        "CREATE ROLE modest_tenant NOLOGIN; CREATE ROLE modest_staff NOLOGIN; GRANT modest_tenant, modest_staff TO modest;"
        in str(refused.value)
    )


def test_organizations_can_be_made_and_counted_freely(
    organization: Organization, other_organization: Organization
) -> None:
    assert Organization.objects.count() == 2
