"""Serializers of statuses (docs/interface.md, S1 and A4)."""

from django.db.models import F, Value
from django.db.models.expressions import Expression
from django.db.models.functions import NullIf

from foundation.api import sql_serializers as sql
from organizations.serializers import ActorSerializer
from statuses.models import BoardScope, Status, StatusRole


class NullableStringField(sql.Field):
    """A string that is null when not set. The column is not nullable and holds an empty string instead."""

    def expression(self, name: str, prefix: str) -> Expression:
        return NullIf(F(prefix + name), Value(""))


class StatusSerializer(sql.SQLSerializer):
    """A sales status."""

    model = Status

    id = sql.UUIDField(help_text="Used to update a lead's status.")
    name = sql.StringField(help_text="Its name for people.")
    role = sql.ChoiceField(StatusRole, help_text="What it means, whatever its name.")
    type = sql.ChoiceField(BoardScope, help_text="The boards that have it: leads', appointments', or both.")
    description: sql.Field = NullableStringField(null=True, help_text="Null when not set.")
    text_color = sql.StringField(help_text="The label's text color as hex.")
    bg_color = sql.StringField(help_text="The label's background color as hex.")


class StatusDetailSerializer(StatusSerializer):
    """A status as shown in its own events."""

    is_active = sql.BooleanField(help_text="False for a retired status: it can't be set any more.")


class OutcomeSerializer(StatusSerializer):
    """The outcome of an appointment: a status without its type."""

    exclude = ("type",)

    # An unset description is null in the statuses list and an empty string in an outcome.
    description: sql.Field = sql.StringField(help_text="Empty when not set.")
    created_at = sql.DateTimeField(help_text="When the status was created.")


class StatusChangeSerializer(sql.SQLSerializer):
    """A change of a status, as histories have it. Its model is a subclass of `StatusChange`."""

    id = sql.UUIDField(help_text="The change's id.")
    from_ = sql.NestedObject(StatusSerializer, "from_status", null=True, help_text="The status before; null at first.")
    to = sql.NestedObject(StatusSerializer, "to_status", help_text="The status after.")
    actor = sql.SameRowObject(ActorSerializer, help_text="Who made the change.")
    created_at = sql.DateTimeField(help_text="When it was made.")
