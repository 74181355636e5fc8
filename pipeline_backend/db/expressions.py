"""PostgreSQL's transaction numbers as database expressions. Migrations name these classes: this module never moves."""

from django.db import models
from django.db.models import Func


class CurrentXactId(Func):
    """The number of the transaction that writes the row."""

    template = "(pg_current_xact_id()::text::bigint)"
    output_field = models.BigIntegerField()


class SnapshotXmin(Func):
    """Every transaction below this number has ended: nothing can still appear before it."""

    template = "(pg_snapshot_xmin(pg_current_snapshot())::text::bigint)"
    output_field = models.BigIntegerField()
