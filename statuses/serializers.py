"""What the interface shows of statuses (interface 2.5, 2.10)."""

from django.db.models import F, Func, TextField
from django.db.models.expressions import Expression

from pipeline_backend.api import sql_serializers as sql
from pipeline_backend.api.sql_serializers import SqlLiteral
from statuses.models import BoardScope, Role, Status


class TextOrNull(sql.Field):
    """A string that is null when not set; the column holds an empty one."""

    def expression(self, name: str, prefix: str) -> Expression:
        """Null for empty."""
        return Func(F(prefix + name), SqlLiteral(""), function="NULLIF", output_field=TextField())


class StatusSerializer(sql.SQLSerializer):
    """A sales status (interface 2.10)."""

    model = Status

    id = sql.UUIDField(help="Used by the lead-status update.")
    name = sql.StringField()
    role = sql.ChoiceField(Role)
    type = sql.ChoiceField(BoardScope)
    description: sql.Field = TextOrNull(null=True)
    text_color = sql.StringField(help="Hex color of the label's text.")
    bg_color = sql.StringField(help="Hex color of the label's background.")


class OutcomeSerializer(StatusSerializer):
    """An appointment's outcome: a status without its type (interface 2.5)."""

    without = ("type",)

    description: sql.Field = sql.StringField(help="Empty when not set.")
    created_at = sql.DateTimeField(help="Creation time of the status.")
