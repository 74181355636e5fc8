"""What makes the second wall stand: roles, row-level security, and references that stay within an organization.

Migrations give a table its part: `walled("leads_lead")`, and `same_organization("leads_lead", status_id="statuses_status")`.
"""

from typing import Any

from django.core.management.base import CommandError
from django.db import ProgrammingError, migrations, transaction

from organizations.wall import SETTING, STAFF, TENANT

# Expressions, not subselects: to the planner the tenant's is one more equality of the same column, so that a query
# which names its organization keeps its plan, with one comparison of two constants before it.
SERVED = {
    TENANT: f"nullif(current_setting('{SETTING}', true), '')::uuid",
    STAFF: f"ANY (nullif(current_setting('{SETTING}', true), '')::uuid[])",
}
OWN = "organization_id = {served}"
ROLES = tuple(SERVED)
EVERYTHING = "SELECT, INSERT, UPDATE, DELETE"

NO_RIGHT = (
    "The database user {user} may not create roles. Let an administrator of the database run\n"
    "    CREATE ROLE {tenant} NOLOGIN; CREATE ROLE {staff} NOLOGIN; GRANT {tenant}, {staff} TO {user};\n"
    "and migrate again (docs/operate.md says what they are for)"
)

# The database refuses what a forgotten check let through, whoever writes: also workers, commands and operators.
UNIQUE = "CREATE UNIQUE INDEX CONCURRENTLY {index} ON {table} (organization_id, id)"
REFERENCE = """
ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY (organization_id, {column}) REFERENCES {parent} (organization_id, id)
DEFERRABLE INITIALLY IMMEDIATE NOT VALID
"""


def asked(editor: Any, question: str, *values: Any) -> Any:
    """The first column of the first row, or None."""
    with editor.connection.cursor() as cursor:
        cursor.execute(question, values)
        row = cursor.fetchone()
    return row[0] if row else None


def do(editor: Any, *statements: str) -> None:
    """One after another."""
    with editor.connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def roles_of(editor: Any) -> dict[str, str]:
    """The names of the user's two roles."""
    user = asked(editor, "SELECT session_user")
    return {role: f"{user}_{role}" for role in ROLES}


def make_roles(_apps: Any, editor: Any) -> None:
    """The roles, which can't sign in and own nothing. They stay when this is undone: other databases of the cluster may use them."""
    user, roles = asked(editor, "SELECT session_user"), roles_of(editor)
    quote = editor.quote_name
    try:
        with transaction.atomic(using=editor.connection.alias):
            for name in roles.values():
                if asked(editor, "SELECT rolname FROM pg_roles WHERE rolname = %s", name) is None:
                    do(editor, f"CREATE ROLE {quote(name)} NOLOGIN")
                if not asked(editor, "SELECT pg_has_role(session_user, %s, 'SET')", name):
                    do(editor, f"GRANT {quote(name)} TO {quote(user)} WITH INHERIT FALSE, SET TRUE")
    except ProgrammingError as error:
        raise CommandError(NO_RIGHT.format(user=user, **roles)) from error
    schema = asked(editor, "SELECT current_schema()")
    do(editor, *(f"GRANT USAGE ON SCHEMA {quote(schema)} TO {quote(name)}" for name in roles.values()))


def roles_made() -> migrations.RunPython:
    """The operation before all others."""
    return migrations.RunPython(make_roles, migrations.RunPython.noop)


def granted(table: str, rights: str = EVERYTHING) -> migrations.RunPython:
    """What both roles may do to a table's rows, all of them unless it is walled too."""

    def forward(_apps: Any, editor: Any) -> None:
        do(editor, *(f"GRANT {rights} ON {table} TO {editor.quote_name(name)}" for name in roles_of(editor).values()))

    def backward(_apps: Any, editor: Any) -> None:
        do(editor, *(f"REVOKE ALL ON {table} FROM {editor.quote_name(name)}" for name in roles_of(editor).values()))

    return migrations.RunPython(forward, backward)


def walled(table: str, rule: str = OWN, *, insert: str = "", update: str = "", rights: str = EVERYTHING) -> list[migrations.RunPython]:
    """Operations that let the roles see and write only the rows for which the rule holds.

    `insert` and `update` are rules of their own for new rows, and for changes; `{served}` is whom the role serves.
    """
    rules = {"SELECT": f"USING ({rule})", "INSERT": f"WITH CHECK ({insert or rule})", "UPDATE": f"USING ({update or rule})", "DELETE": f"USING ({rule})"}

    def forward(_apps: Any, editor: Any) -> None:
        with transaction.atomic(using=editor.connection.alias):
            do(editor, f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            for role, name in roles_of(editor).items():
                for verb, text in rules.items():
                    own = f"CREATE POLICY {role}_{verb.lower()} ON {table} FOR {verb} TO {editor.quote_name(name)} "
                    do(editor, own + text.format(served=SERVED[role]))

    def backward(_apps: Any, editor: Any) -> None:
        drop = [f"DROP POLICY {role}_{verb.lower()} ON {table}" for role in ROLES for verb in rules]
        do(editor, *drop, f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY")

    return [migrations.RunPython(forward, backward), granted(table, rights)]


def referable(table: str) -> migrations.RunPython:
    """The index that `same_organization` needs on the table that is referred to; built beside those who write."""
    index = f"{table}_of_organization"

    def forward(_apps: Any, editor: Any) -> None:
        # What an interrupted build has left behind is of no use.
        if asked(editor, "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", index) is False:
            do(editor, f"DROP INDEX {index}")
        if asked(editor, "SELECT to_regclass(%s)::text", index) is None:
            do(editor, "SET statement_timeout = 0", UNIQUE.format(index=index, table=table), "RESET statement_timeout")

    def backward(_apps: Any, editor: Any) -> None:
        do(editor, f"DROP INDEX {index}")

    return migrations.RunPython(forward, backward, atomic=False)


def same_organization(table: str, **parents: str) -> list[migrations.RunPython]:
    """Operations that hold each column's reference within the row's organization, beside the plain reference that Django made."""
    return [step for column, parent in parents.items() for step in one_reference(table, column, parent)]


def one_reference(table: str, column: str, parent: str) -> list[migrations.RunPython]:
    """For new rows at once; for those that are there after a look that disturbs nobody."""
    name = f"{table}_{column}_same_organization"

    def forward(_apps: Any, editor: Any) -> None:
        if asked(editor, "SELECT conname FROM pg_constraint WHERE conname = %s AND conrelid = %s::regclass", name, table) is None:
            do(editor, REFERENCE.format(table=table, name=name, column=column, parent=parent))

    def backward(_apps: Any, editor: Any) -> None:
        do(editor, f"ALTER TABLE {table} DROP CONSTRAINT {name}")

    def validate(_apps: Any, editor: Any) -> None:
        do(editor, "SET statement_timeout = 0", f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}", "RESET statement_timeout")

    return [migrations.RunPython(forward, backward), migrations.RunPython(validate, migrations.RunPython.noop)]
