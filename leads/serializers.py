"""Serializers of leads: first what the API returns and webhooks send, then what requests contain.

To add a field to the output, add one line to `LeadListSerializer` (the lead endpoints and events) or to
`LeadSummarySerializer` (also the lead in an appointment). Responses, event bodies and the OpenAPI document follow it.
"""

from collections.abc import Callable
from typing import ClassVar

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Expression, Func, JSONField, OuterRef, QuerySet, TextField
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast

from foundation.api import sql_serializers as sql
from foundation.api.fields import InputSerializer, UUIDField
from leads.models import CustomField, Lead, LeadMerge, LeadNote, Source, TouchPointType
from organizations.serializers import ActorSerializer, UserSerializer
from statuses.serializers import StatusSerializer

# --- Output, read from the database as finished JSON


class SourceSerializer(sql.SQLSerializer):
    """Where a lead came from."""

    model = Source

    id = sql.UUIDField()
    name = sql.StringField()


class LeadSummarySerializer(sql.SQLSerializer):
    """The lead of an appointment."""

    model = Lead

    id = sql.UUIDField()
    first_name = sql.StringField()
    last_name = sql.StringField()
    email = sql.StringField()
    phone_e164 = sql.StringField(null=True, help_text="E.164.")
    phone_country = sql.StringField(null=True, help_text="ISO 3166-1 alpha-2.")
    next_touch_point_at = sql.DateTimeField(null=True)
    next_touch_point_type = sql.ChoiceField(TouchPointType, null=True)


class CustomFieldValue(sql.AnyField):
    def expression(self, name: str, prefix: str) -> Expression:
        """Return `outer_values -> id`; `custom_fields` annotates `outer_values`, an object of values by field id."""
        return Func(
            "outer_values",
            Cast("id", TextField()),
            template="(%(expressions)s)",
            arg_joiner=" -> ",
            output_field=JSONField(),
        )


class CustomFieldValueSerializer(sql.SQLSerializer):
    """A custom field and its value: a string, number, boolean, YYYY-MM-DD date, or null."""

    model = CustomField

    id = sql.UUIDField()
    key = sql.StringField()
    label = sql.StringField()
    type = sql.ChoiceField(CustomField.Type)
    value = CustomFieldValue()


def custom_fields(entity: CustomField.Entity) -> sql.NestedList:
    def rows(outer: Callable[[str], OuterRef]) -> QuerySet[CustomField]:
        fields = CustomField.unscoped.filter(organization=outer("organization"), entity=entity.value)
        return fields.annotate(outer_values=outer("custom_values")).order_by("position", "key")

    return sql.NestedList(
        CustomFieldValueSerializer,
        rows,
        help_text="Every custom field that the organization has defined, in its display order.",
    )


class LeadListSerializer(LeadSummarySerializer):
    """A lead in lists."""

    component_name = "LeadItem"

    status = sql.NestedObject(StatusSerializer)
    setter = sql.NestedObject(UserSerializer, null=True)
    first_source = sql.NestedObject(SourceSerializer)
    last_source = sql.NestedObject(SourceSerializer, help_text="Follows opt-ins, not bookings.")
    next_step_at = sql.DateTimeField(null=True, help_text="What staff have to do next. It stays until it is done.")
    next_step_type = sql.ChoiceField(TouchPointType, null=True)
    next_step_note = sql.StringField(null=True)
    custom_fields = custom_fields(CustomField.Entity.LEAD)
    created_at = sql.DateTimeField()
    updated_at = sql.DateTimeField()


class ErasedLeadSerializer(sql.SQLSerializer):
    """A lead without personal data."""

    component_name = "ErasedLead"
    model = Lead

    id = sql.UUIDField()


class PreviousIds(sql.Field):
    """The ids of the leads that were merged into the lead."""

    openapi: ClassVar[sql.Schema] = {"type": "array", "items": {"type": "string", "format": "uuid"}}

    def expression(self, name: str, prefix: str) -> Combinable:
        merges = LeadMerge.unscoped.filter(lead=OuterRef(f"{prefix}pk")).order_by("created_at", "id")
        return ArraySubquery(merges.values("previous_id"))


class LeadSerializer(LeadListSerializer):
    """A lead."""

    component_name = "LeadDetail"

    previous_ids = PreviousIds(help_text="The leads that were merged into this one. Their ids lead to it.")


class LeadNoteSerializer(sql.SQLSerializer):
    """A note about a lead with its author, as events have it."""

    component_name = "LeadNoteDetail"
    model = LeadNote

    id = sql.UUIDField()
    note = sql.StringField()
    author = sql.SameRowObject(ActorSerializer)
    created_at = sql.DateTimeField()
    lead = sql.NestedObject(LeadSerializer)


class CustomFieldSerializer(sql.SQLSerializer):
    """The definition of a custom field, as events have it."""

    component_name = "CustomFieldDetail"
    model = CustomField

    id = sql.UUIDField()
    entity = sql.ChoiceField(CustomField.Entity, help_text="The objects that have the field.")
    key = sql.StringField()
    label = sql.StringField()
    type = sql.ChoiceField(CustomField.Type)
    position = sql.IntegerField(help_text="Custom fields are shown in the order of position and key.")


class LeadStatusSerializer(sql.SQLSerializer):
    """A lead's new status."""

    component_name = "StatusUpdate"

    id = sql.UUIDField(help_text="The lead.")
    status = sql.NestedObject(StatusSerializer)


# --- Input


class StatusUpdateInputSerializer(InputSerializer):
    """The new status of a lead."""

    status_id = UUIDField(help_text="A status of the lead board, from the statuses list.")
