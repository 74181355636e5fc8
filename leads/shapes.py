"""What the interface shows of leads (interface 2.1, 2.2, decision 18)."""

from django.db.models import Expression, Func, JSONField, TextField
from django.db.models.functions import Cast

from leads.models import CustomField, Lead, Source, TouchPoint
from organizations.shapes import UserShape
from pipeline_backend.api.shapes import Anything, Choice, Literal, Moment, Nested, Related, Shape, Text, Uuid
from statuses.shapes import StatusShape


class SourceShape(Shape):
    """Where a lead came from."""

    model = Source

    id = Uuid()
    name = Text()


class LeadSummary(Shape):
    """A lead as its appointment shows it (interface 2.2)."""

    model = Lead

    id = Uuid()
    first_name = Text()
    last_name = Text()
    email = Text()
    phone_e164 = Text(null=True, help="E.164.")
    phone_country = Text(null=True, help="ISO 3166-1 alpha-2.")
    next_touch_point_at = Moment(null=True)
    next_touch_point_type = Choice(TouchPoint, null=True)


class OwnValue(Anything):
    """The outer row's value of a custom field, or null."""

    def expression(self, name: str, prefix: str) -> Expression:
        """Looked up by the field's id; `outer` is annotated by `custom_fields`."""
        return Func("outer_values", Cast("id", TextField()), template="(%(expressions)s)", arg_joiner=" -> ", output_field=JSONField())


class CustomFieldValue(Shape):
    """A custom field and its value: a string, number, boolean, YYYY-MM-DD, or null (decision 27)."""

    model = CustomField

    id = Uuid()
    key = Text()
    label = Text()
    type = Choice(CustomField.Type)
    value = OwnValue()


def custom_fields(entity: CustomField.Entity) -> Related:
    """Every custom field of the organization for leads or appointments, with this row's value."""

    def rows(outer):  # type: ignore[no-untyped-def]
        own = CustomField.unscoped.filter(organization=outer("organization"), entity=Literal(entity.value))
        return own.annotate(outer_values=outer("custom_values")).order_by("position", "key")

    return Related(CustomFieldValue, rows, help="Every custom field that the organization has defined, in its order.")


class LeadDetail(LeadSummary):
    """A lead (decision 18)."""

    status = Nested(StatusShape)
    setter = Nested(UserShape, null=True)
    first_source = Nested(SourceShape)
    last_source = Nested(SourceShape)
    custom_fields = custom_fields(CustomField.Entity.LEAD)
    created_at = Moment()
    updated_at = Moment()
