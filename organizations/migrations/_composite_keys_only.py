"""The operation that drops a plain foreign key beside which a composite one proves more.

Migrations that have been released use this module: never change what it does. A new version gets a module of its own.
"""

import time

from django.core.management.base import CommandError
from django.db import OperationalError, migrations, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from psycopg.errors import DeadlockDetected, LockNotAvailable

ATTEMPTS = 20
# The two keys of a column, and the table that the composite one, (organization_id, column), refers to.
KEYS = """
SELECT
    (SELECT conname FROM pg_constraint WHERE contype = 'f' AND conrelid = attrelid AND conkey = ARRAY[attnum]),
    (
        SELECT confrelid::regclass::text FROM pg_constraint
        WHERE contype = 'f' AND conrelid = attrelid AND cardinality(conkey) = 2 AND conkey[2] = attnum AND convalidated
    )
FROM pg_attribute
WHERE attrelid = %s::regclass AND attname = %s
"""
ADD_KEY = """
ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}) REFERENCES {parent} (id)
DEFERRABLE INITIALLY DEFERRED NOT VALID
"""


class DropPlainForeignKey(Operation):
    """Drop the plain foreign key of a field, which becomes one with `db_constraint=False`. Can be repeated.

    Raises CommandError without a composite key. The migration must set `atomic = False`: the locks on both tables, the
    parent's first as in bookings, are held for a moment, and never those of all fields at once. What others wait behind
    it ends after two seconds.
    """

    reversible = True

    def __init__(self, model_name: str, name: str) -> None:
        self.model_name, self.name = model_name, name

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        fields = state.models[app_label, self.model_name].fields
        fields[self.name] = fields[self.name].clone()
        # Not by `alter_field`, which would make all related models anew, 45 times: nothing else depends on this.
        fields[self.name].db_constraint = False

    def database_forwards(self, app_label: str, editor: BaseDatabaseSchemaEditor, *_states: ProjectState) -> None:
        table = f"{app_label}_{self.model_name}"
        plain, parent = self.read_keys(editor, table)
        if plain:
            self.execute(editor, f"LOCK TABLE {parent}, {table}", f"ALTER TABLE {table} DROP CONSTRAINT {plain}")

    def database_backwards(self, app_label: str, editor: BaseDatabaseSchemaEditor, *_states: ProjectState) -> None:
        table, column = f"{app_label}_{self.model_name}", f"{self.name}_id"
        plain, parent = self.read_keys(editor, table)
        if not plain:
            # The name that Django would give it.
            plain = editor._create_index_name(table, [column], suffix=f"_fk_{parent}_id")
            self.execute(editor, ADD_KEY.format(table=table, name=plain, column=column, parent=parent))
        validate = f"ALTER TABLE {table} VALIDATE CONSTRAINT {plain}"
        self.execute(editor, "SET LOCAL statement_timeout = 0", validate)

    def read_keys(self, editor: BaseDatabaseSchemaEditor, table: str) -> tuple[str | None, str]:
        with editor.connection.cursor() as cursor:
            cursor.execute(KEYS, [table, f"{self.name}_id"])
            plain, parent = cursor.fetchone()
        if parent is None:
            raise CommandError(f"{table} has no valid composite foreign key of {self.name}_id")
        return plain, parent

    def execute(self, editor: BaseDatabaseSchemaEditor, *statements: str) -> None:
        """Run the statements in a transaction, and again if it waits for locks for long, or in a circle with others.

        Each attempt waits for a lock long enough to interrupt an autovacuum, which a second takes.
        """
        for attempt in range(ATTEMPTS):
            try:
                with transaction.atomic(using=editor.connection.alias), editor.connection.cursor() as cursor:
                    for statement in ("SET LOCAL lock_timeout = '2s'", *statements):
                        cursor.execute(statement)
                return
            except OperationalError as error:
                is_conflict = isinstance(error.__cause__, DeadlockDetected | LockNotAvailable)
                if not is_conflict or attempt == ATTEMPTS - 1:
                    raise
            time.sleep(1)  # those who have waited behind this operation go on

    def describe(self) -> str:
        return f"Drop the plain foreign key of {self.name} on {self.model_name}"


def drop_plain_foreign_keys(model_name: str, *fields: str) -> list[migrations.operations.base.Operation]:
    """Return an operation for each field of the model."""
    return [DropPlainForeignKey(model_name, name) for name in fields]
