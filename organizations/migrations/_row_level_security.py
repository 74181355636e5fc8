"""Operations for row-level security: database roles, policies, and foreign keys that stay within an organization.

Migrations that have been released use this module: never change what it does. A new version gets a module of its own.
A table gets its policies by `enable_rls("leads_lead")` and its composite foreign keys by
`composite_foreign_keys("leads_lead", status_id="statuses_status")`.
"""

from typing import Any

from django.core.management.base import CommandError
from django.db import ProgrammingError, migrations, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

# Expressions, not subselects: the planner sees one more equality on the same column, so a query that names its
# organization keeps its plan and only compares two constants first.
SCOPES = {
    "tenant": "nullif(current_setting('pipeline.organizations', true), '')::uuid",
    "staff": "ANY (nullif(current_setting('pipeline.organizations', true), '')::uuid[])",
}
SAME_ORGANIZATION = "organization_id = {scope}"
ALL_RIGHTS = "SELECT, INSERT, UPDATE, DELETE"

MISSING_RIGHT = (
    "The database user {user} may not create roles. Let an administrator of the database run\n"
    "    CREATE ROLE {tenant} NOLOGIN; CREATE ROLE {staff} NOLOGIN; GRANT {tenant}, {staff} TO {user};\n"
    "and migrate again (docs/operate.md says what they are for)"
)

# A composite foreign key makes the database refuse references across organizations, whoever writes.
UNIQUE_INDEX = "CREATE UNIQUE INDEX CONCURRENTLY {index} ON {table} (organization_id, id)"
FOREIGN_KEY = """
ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY (organization_id, {column})
REFERENCES {parent} (organization_id, id) DEFERRABLE INITIALLY IMMEDIATE NOT VALID
"""


class RunCode(migrations.RunPython):
    """RunPython for functions that use no models: to build all of them for each operation takes `migrate` seconds."""

    def database_forwards(self, _app: str, schema_editor: BaseDatabaseSchemaEditor, *_states: object) -> None:
        self.code(None, schema_editor)

    def database_backwards(self, _app: str, schema_editor: BaseDatabaseSchemaEditor, *_states: object) -> None:
        self.reverse_code(None, schema_editor)


def fetch_value(editor: BaseDatabaseSchemaEditor, query: str, *params: object) -> Any:  # noqa: ANN401  # any column
    """Return the first column of the first row, or None."""
    with editor.connection.cursor() as cursor:
        cursor.execute(query, params)
        row = cursor.fetchone()
    return row[0] if row else None


def execute(editor: BaseDatabaseSchemaEditor, *statements: str) -> None:
    """Run the statements in order."""
    with editor.connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def role_names(editor: BaseDatabaseSchemaEditor) -> dict[str, str]:
    """Return the database names of the two roles. Roles belong to the cluster, so each login has its own two."""
    user = fetch_value(editor, "SELECT session_user")
    return {role: f"{user}_{role}" for role in SCOPES}


def create_roles(_apps: object, editor: BaseDatabaseSchemaEditor) -> None:
    """Create the two roles, which can't sign in and own nothing.

    Raises CommandError if the login may not create roles. Reversing keeps them: other databases of the cluster may
    use them.
    """
    user, roles = fetch_value(editor, "SELECT session_user"), role_names(editor)
    quote = editor.quote_name
    try:
        with transaction.atomic(using=editor.connection.alias):
            for name in roles.values():
                if fetch_value(editor, "SELECT rolname FROM pg_roles WHERE rolname = %s", name) is None:
                    execute(editor, f"CREATE ROLE {quote(name)} NOLOGIN")
                if not fetch_value(editor, "SELECT pg_has_role(session_user, %s, 'SET')", name):
                    execute(editor, f"GRANT {quote(name)} TO {quote(user)} WITH INHERIT FALSE, SET TRUE")
    except ProgrammingError as error:
        raise CommandError(MISSING_RIGHT.format(user=user, **roles)) from error
    schema = fetch_value(editor, "SELECT current_schema()")
    execute(editor, *(f"GRANT USAGE ON SCHEMA {quote(schema)} TO {quote(name)}" for name in roles.values()))


def create_rls_roles() -> RunCode:
    """Return the operation that creates the roles; it comes before all others of this module."""
    return RunCode(create_roles, migrations.RunPython.noop)


def grant(table: str, rights: str = ALL_RIGHTS) -> RunCode:
    """Return an operation that grants both roles rights on a table: on all its rows unless it has policies too."""

    def forward(_apps: object, editor: BaseDatabaseSchemaEditor) -> None:
        roles = map(editor.quote_name, role_names(editor).values())
        execute(editor, *(f"GRANT {rights} ON {table} TO {role}" for role in roles))

    def backward(_apps: object, editor: BaseDatabaseSchemaEditor) -> None:
        roles = map(editor.quote_name, role_names(editor).values())
        execute(editor, *(f"REVOKE ALL ON {table} FROM {role}" for role in roles))

    return RunCode(forward, backward)


def enable_rls(
    table: str,
    rule: str = SAME_ORGANIZATION,
    *,
    insert: str = "",
    update: str = "",
    rights: str = ALL_RIGHTS,
) -> list[RunCode]:
    """Return operations that let the roles see and write only the rows for which the rule holds.

    `insert` and `update` replace the rule for new and for changed rows. `{scope}` in a rule stands for the
    organizations of the current request.
    """
    policies = {
        "SELECT": f"USING ({rule})",
        "INSERT": f"WITH CHECK ({insert or rule})",
        "UPDATE": f"USING ({update or rule})",
        "DELETE": f"USING ({rule})",
    }

    def forward(_apps: object, editor: BaseDatabaseSchemaEditor) -> None:
        with transaction.atomic(using=editor.connection.alias):
            execute(editor, f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            for role, name in role_names(editor).items():
                for command, text in policies.items():
                    policy = f"CREATE POLICY {role}_{command.lower()} ON {table} FOR {command} TO {editor.quote_name(name)} "
                    execute(editor, policy + text.format(scope=SCOPES[role]))

    def backward(_apps: object, editor: BaseDatabaseSchemaEditor) -> None:
        drop = [f"DROP POLICY {role}_{command.lower()} ON {table}" for role in SCOPES for command in policies]
        execute(editor, *drop, f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")

    return [RunCode(forward, backward), grant(table, rights)]


def unique_with_organization(table: str) -> RunCode:
    """Return an operation that builds, concurrently, the index that composite foreign keys to this table need."""
    index = f"{table}_of_organization"

    def forward(_apps: object, editor: BaseDatabaseSchemaEditor) -> None:
        # An interrupted concurrent build leaves an invalid index behind.
        if fetch_value(editor, "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", index) is False:
            execute(editor, f"DROP INDEX {index}")
        if fetch_value(editor, "SELECT to_regclass(%s)::text", index) is None:
            build = UNIQUE_INDEX.format(index=index, table=table)
            execute(editor, "SET statement_timeout = 0", build, "RESET statement_timeout")

    def backward(_apps: object, editor: BaseDatabaseSchemaEditor) -> None:
        execute(editor, f"DROP INDEX {index}")

    return RunCode(forward, backward, atomic=False)


def composite_foreign_keys(table: str, **parents: str) -> list[RunCode]:
    """Return operations that keep each column's reference within the row's organization.

    They come beside the plain foreign keys that Django made. `parents` maps a column to the table that it refers to.
    """
    return [step for column, parent in parents.items() for step in composite_foreign_key(table, column, parent)]


def composite_foreign_key(table: str, column: str, parent: str) -> list[RunCode]:
    """Return two operations: add the constraint for new rows, then validate the existing ones without a long lock."""
    name = f"{table}_{column}_same_organization"

    def forward(_apps: object, editor: BaseDatabaseSchemaEditor) -> None:
        query = "SELECT conname FROM pg_constraint WHERE conname = %s AND conrelid = %s::regclass"
        if fetch_value(editor, query, name, table) is None:
            execute(editor, FOREIGN_KEY.format(table=table, name=name, column=column, parent=parent))

    def backward(_apps: object, editor: BaseDatabaseSchemaEditor) -> None:
        execute(editor, f"ALTER TABLE {table} DROP CONSTRAINT {name}")

    def validate(_apps: object, editor: BaseDatabaseSchemaEditor) -> None:
        validation = f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}"
        execute(editor, "SET statement_timeout = 0", validation, "RESET statement_timeout")

    return [RunCode(forward, backward), RunCode(validate, migrations.RunPython.noop)]
