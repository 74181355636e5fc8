"""Runs what a migration does to rows, without migrating back to the schema before it."""

from importlib import import_module

from django.apps import apps
from django.db import connection
from django.db.migrations import RunPython, RunSQL
from django.db.migrations.state import ProjectState


def run_data_steps(app: str, name: str) -> None:
    """Run the migration's statements and functions on the present schema, for rows that are as they were before it."""
    state = ProjectState.from_apps(apps)
    with connection.schema_editor(atomic=False) as editor:
        for operation in import_module(f"{app}.migrations.{name}").Migration.operations:
            if isinstance(operation, RunSQL | RunPython):
                operation.database_forwards(app, editor, state, state)
