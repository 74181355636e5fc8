"""PostgreSQL's transaction ids as database expressions; they order the events feed (docs/decisions/0002).

Migrations name these classes by their import path: this module never moves.
"""

from django.db import models
from django.db.models import Func


class CurrentXactId(Func):
    """The id of the transaction that writes the row."""

    template = "(pg_current_xact_id()::text::bigint)"
    output_field = models.BigIntegerField()


class SnapshotXmin(Func):
    """The lowest transaction id that is still running: every transaction below it has ended."""

    # A row of a transaction below this id can't appear later, so a reader never passes an event it has not seen.
    template = "(pg_snapshot_xmin(pg_current_snapshot())::text::bigint)"
    output_field = models.BigIntegerField()
