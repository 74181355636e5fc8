"""What PostgreSQL must allow, checked before the first migration: otherwise one in the middle would fail."""

from django.apps import apps
from django.conf import settings
from django.core.management import CommandError
from django.db import connection
from django.db.models.signals import pre_migrate

MIN_VERSION = 18  # has casefold, which sorts statuses
POOLED = (
    "Migrations need a session: run migrate with the address of PostgreSQL itself in DATABASE_URL, and without "
    "DATABASE_POOLER"
)
OLD = "PostgreSQL {version} is too old: use {minimum} or later"
ENCODING = "The database {database} has the encoding {encoding}: create it with ENCODING 'UTF8' TEMPLATE template0"
NO_TABLES = (
    "The database user {user} may not create tables. Let an administrator of the database run\n"
    "    ALTER DATABASE {database} OWNER TO {user};\n"
    "and migrate again"
)
NO_ROLES = (
    "The database user {user} may not create roles. Let an administrator of the database run\n"
    "    {statements}\n"
    "and migrate again (docs/operate.md says what they are for)"
)
QUERY = """
SELECT quote_ident(session_user), quote_ident(current_database()), current_setting('server_version_num')::int / 10000,
    getdatabaseencoding(), coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
    (SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = session_user)
"""
# The two roles of requests (organizations.isolation), and whether they exist and the user can take them on.
ROLES = """
SELECT quote_ident(name), oid IS NOT NULL,
    coalesce(pg_has_role(session_user, oid, 'SET') OR pg_has_role(session_user, oid, 'MEMBER WITH ADMIN OPTION'), false)
FROM (VALUES (session_user || '_tenant'), (session_user || '_staff')) AS wanted (name)
LEFT JOIN pg_roles ON rolname = name
ORDER BY name DESC
"""


def connect() -> None:
    """Run the checks at each `migrate` that has something to do: for one app with models, because each has a signal."""
    pre_migrate.connect(check, sender=apps.get_app_config("organizations"))


def check(plan: list[object], **_: object) -> None:
    if not plan:
        return
    # Migrations change time-outs of their session, which belongs to another client there.
    if settings.DATABASE_POOLER == "transaction":
        raise CommandError(POOLED)
    if problem := database_problem():
        raise CommandError(problem)


def database_problem() -> str:
    """Return what an administrator of the database has to do first, or ""."""
    with connection.cursor() as cursor:
        cursor.execute(QUERY)
        user, database, version, encoding, creates_tables, creates_roles = cursor.fetchone()
        cursor.execute(ROLES)
        roles = cursor.fetchall()
    if version < MIN_VERSION:
        return OLD.format(version=version, minimum=MIN_VERSION)
    if encoding != "UTF8":
        return ENCODING.format(database=database, encoding=encoding)
    if not creates_tables:
        return NO_TABLES.format(user=user, database=database)
    missing = [name for name, exists, _ in roles if not exists and not creates_roles]
    foreign = [name for name, exists, is_ours in roles if exists and not is_ours]
    if not missing and not foreign:
        return ""
    statements = [f"CREATE ROLE {name} NOLOGIN;" for name in missing]
    statements.append(f"GRANT {', '.join(missing + foreign)} TO {user};")
    return NO_ROLES.format(user=user, statements=" ".join(statements))
