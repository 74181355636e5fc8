"""Input serializers (what requests may contain) and output serializers (compiled to SQL)."""

from django.db.models import Expression, Func, JSONField, TextField
from django.db.models.functions import Cast

from leads.models import CustomField, Lead, Source, TouchPointType
from organizations.serializers import UserSerializer
from pipeline_backend.api import sql_serializers as sql
from pipeline_backend.api.fields import InputSerializer, UUIDField
from pipeline_backend.api.sql_serializers import SqlLiteral
from statuses.serializers import StatusSerializer


class SourceSerializer(sql.SQLSerializer):
    """Where a lead came from."""

    model = Source

    id = sql.UUIDField()
    name = sql.StringField()


class LeadSummarySerializer(sql.SQLSerializer):
    """A lead as its appointment shows it (interface 2.2)."""

    model = Lead

    id = sql.UUIDField()
    first_name = sql.StringField()
    last_name = sql.StringField()
    email = sql.StringField()
    phone_e164 = sql.StringField(null=True, help="E.164.")
    phone_country = sql.StringField(null=True, help="ISO 3166-1 alpha-2.")
    next_touch_point_at = sql.DateTimeField(null=True)
    next_touch_point_type = sql.ChoiceField(TouchPointType, null=True)


class CustomFieldValue(sql.AnyField):
    """The outer row's value of a custom field, or null."""

    def expression(self, name: str, prefix: str) -> Expression:
        """Looked up by the field's id; `outer` is annotated by `custom_fields`."""
        return Func(
            "outer_values",
            Cast("id", TextField()),
            template="(%(expressions)s)",
            arg_joiner=" -> ",
            output_field=JSONField(),
        )


class CustomFieldValueSerializer(sql.SQLSerializer):
    """A custom field and its value: a string, number, boolean, YYYY-MM-DD, or null (decision 27)."""

    model = CustomField

    id = sql.UUIDField()
    key = sql.StringField()
    label = sql.StringField()
    type = sql.ChoiceField(CustomField.Type)
    value = CustomFieldValue()


def custom_fields(entity: CustomField.Entity) -> sql.NestedList:
    """Every custom field of the organization for leads or appointments, with this row's value."""

    def rows(outer):  # type: ignore[no-untyped-def]
        own = CustomField.unscoped.filter(organization=outer("organization"), entity=SqlLiteral(entity.value))
        return own.annotate(outer_values=outer("custom_values")).order_by("position", "key")

    return sql.NestedList(
        CustomFieldValueSerializer, rows, help="Every custom field that the organization has defined, in its order."
    )


class LeadSerializer(LeadSummarySerializer):
    """A lead (decision 18)."""

    component_name = "LeadDetail"
    status = sql.NestedObject(StatusSerializer)
    setter = sql.NestedObject(UserSerializer, null=True)
    first_source = sql.NestedObject(SourceSerializer)
    last_source = sql.NestedObject(SourceSerializer)
    custom_fields = custom_fields(CustomField.Entity.LEAD)
    created_at = sql.DateTimeField()
    updated_at = sql.DateTimeField()


class StatusUpdateInputSerializer(InputSerializer):
    """The status to move to."""

    status_id = UUIDField(help_text="A status of the lead board, from the statuses list.")
