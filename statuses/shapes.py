"""What the interface shows of statuses (interface 2.5, 2.10)."""

from django.db.models import F, Func, TextField
from django.db.models.expressions import Expression

from pipeline_backend.api.shapes import Choice, Field, Literal, Moment, Shape, Text, Uuid
from statuses.models import Role, Status, Type


class TextOrNull(Field):
    """A string that is null when not set; the column holds an empty one."""

    def expression(self, name: str, prefix: str) -> Expression:
        """Null for empty."""
        return Func(F(prefix + name), Literal(""), function="NULLIF", output_field=TextField())


class StatusShape(Shape):
    """A sales status (interface 2.10)."""

    model = Status

    id = Uuid(help="Used by the lead-status update.")
    name = Text()
    role = Choice(Role)
    type = Choice(Type)
    description: Field = TextOrNull(null=True)
    text_color = Text(help="Hex color of the label's text.")
    bg_color = Text(help="Hex color of the label's background.")


class OutcomeShape(StatusShape):
    """An appointment's outcome: a status without its type (interface 2.5)."""

    without = ("type",)

    description: Field = Text(help="Empty when not set.")
    created_at = Moment(help="Creation time of the status.")
