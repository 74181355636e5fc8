"""Serializers of leads: first what the API returns and webhooks send, then what requests contain.

To add a field to the output, add one line to `LeadItemSerializer` (the lead endpoints and events) or to
`LeadSummarySerializer` (also the lead in an appointment). Responses, event bodies and the OpenAPI document follow it.
"""

from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Expression, Func, JSONField, OuterRef, Q, TextField
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast
from rest_framework import serializers

from foundation.api import sql_serializers as sql
from foundation.api.batches import MAX_ROWS, ImportedRowSerializer, ImportSerializer, ResultsField, RowsField
from foundation.api.fields import (
    BoundedListField,
    ChoiceField,
    EmailField,
    InputSerializer,
    LongStringField,
    NameField,
    ObjectField,
    StringField,
    UpdateInputSerializer,
    UUIDField,
)
from foundation.db.compiled import Param
from leads.models import CustomField, Lead, LeadMerge, LeadNote, LeadStatusChange, Source, TouchPointType
from leads.phones import parse_e164
from organizations.serializers import ActorSerializer, UserSerializer
from statuses.serializers import StatusChangeSerializer, StatusSerializer

STORED = Q(pk__isnull=False)  # true for every row

# --- Output, read from the database as finished JSON


class SourceSerializer(sql.SQLSerializer):
    """Where a lead came from."""

    model = Source

    id = sql.UUIDField(help_text="The source's id.")
    name = sql.StringField(help_text="Its name.")


class LeadSummarySerializer(sql.SQLSerializer):
    """The lead of an appointment."""

    model = Lead

    id = sql.UUIDField(help_text="The lead's id.")
    first_name = sql.StringField(help_text="First name.")
    last_name = sql.StringField(help_text="Last name; empty if it isn't known.")
    email = sql.StringField(help_text="E-mail address.")
    phone_e164 = sql.StringField(null=True, help_text="E.164.")
    phone_country = sql.StringField(null=True, help_text="ISO 3166-1 alpha-2.")
    next_touch_point_at = sql.DateTimeField(null=True, help_text="The next contact with the lead.")
    next_touch_point_type = sql.OpenChoiceField(TouchPointType, null=True, help_text="Its kind.")


class CustomFieldSummarySerializer(sql.SQLSerializer):
    model = CustomField

    id = sql.UUIDField(help_text="The custom field's id.")
    key = sql.StringField(help_text="Its key, which doesn't change.")
    label = sql.StringField(help_text="Its name for people.")
    type = sql.OpenChoiceField(CustomField.Type, help_text="The type of the value.")


class CustomFieldValueSerializer(CustomFieldSummarySerializer):
    """A custom field and its value: a string, number, boolean, YYYY-MM-DD date, or null."""

    value = sql.AnyField(help_text="The value, of the field's type; null if it has none.")


class CustomFieldsField(sql.Field):
    """Every custom field of the organization, with the row's value.

    The array doesn't depend on the row, so PostgreSQL reads the fields once, and adds the value of each to the text of
    the others: for the benchmark "list of 100", a sixth of whose time it took to make each object anew.
    """

    # An object is written as PostgreSQL's own functions do: it begins with {"id" : " and the 36 characters of the id.
    object_start = """left(%(expressions)s, -1) || ', "value" : '"""
    template = """(
        SELECT ('[' ||
            coalesce(string_agg(start || coalesce((row_values -> substr(start, 10, 36))::text, 'null') || '}', ','), '')
        || ']')::json
        FROM (SELECT %(expressions)s) AS arrays (starts, row_values), unnest(starts) AS start
    )"""

    def __init__(self, entity: CustomField.Entity) -> None:
        help_text = "Every custom field that the organization has defined, in its display order."
        super().__init__("custom_values", help_text=help_text)
        self.entity = entity

    def expression(self, name: str, prefix: str) -> Expression:
        fields = CustomField.unscoped.filter(organization=Param("organization"), entity=self.entity.value)
        summary = Cast(CustomFieldSummarySerializer.expression(), TextField())
        start = Func(summary, template=self.object_start, output_field=TextField())
        starts = ArraySubquery(fields.order_by("position", "key").values_list(start))
        return Func(starts, super().expression(name, prefix), template=self.template, output_field=JSONField())

    def value_schema(self, resolve: sql.SchemaResolver) -> sql.Schema:
        return {"type": "array", "items": resolve(CustomFieldValueSerializer)}


class LeadItemSerializer(LeadSummarySerializer):
    """A lead in lists."""

    status = sql.NestedObject(StatusSerializer, help_text="The lead's status.")
    setter = sql.NestedObject(UserSerializer, null=True, help_text="The member who works with the lead.")
    first_source = sql.NestedObject(SourceSerializer, help_text="Where the lead came from first.")
    last_source = sql.NestedObject(
        SourceSerializer, help_text="Where it came from last; follows opt-ins, not bookings."
    )
    next_step_at = sql.DateTimeField(null=True, help_text="What staff have to do next. It stays until it is done.")
    next_step_type = sql.OpenChoiceField(TouchPointType, null=True, help_text="The kind of the next step.")
    next_step_note = sql.StringField(null=True, help_text="The note of the next step.")
    custom_fields = CustomFieldsField(CustomField.Entity.LEAD)
    created_at = sql.DateTimeField(help_text="When the lead was stored.")
    updated_at = sql.DateTimeField(help_text="When a value of the lead last changed.")


class ErasedLeadSerializer(sql.SQLSerializer):
    """A lead without personal data."""

    model = Lead

    id = sql.UUIDField(help_text="The lead's id.")


class DeletedLeadSerializer(ErasedLeadSerializer):
    """A lead that is gone."""


class PreviousIds(sql.Field):
    """The ids of the leads that were merged into the lead."""

    openapi = {"type": "array", "items": {"type": "string", "format": "uuid"}}

    def expression(self, name: str, prefix: str) -> Combinable:
        merges = LeadMerge.unscoped.filter(lead=OuterRef(f"{prefix}pk")).order_by("created_at", "id")
        return ArraySubquery(merges.values("previous_id"))


class LeadDetailSerializer(LeadItemSerializer):
    """A lead."""

    previous_ids = PreviousIds(help_text="The leads that were merged into this one. Their ids lead to it.")


class LeadStatusChangeSerializer(StatusChangeSerializer):
    """A change of a lead's status."""

    model = LeadStatusChange


class LeadNoteItemSerializer(sql.SQLSerializer):
    """A note about a lead with its author."""

    model = LeadNote

    id = sql.UUIDField(help_text="The note's id.")
    note = sql.StringField(help_text="The note's text.")
    external_reference = sql.StringField(null=True, help_text="The source system's id of the note.")
    author = sql.SameRowObject(ActorSerializer, help_text="Who wrote it.")
    created_at = sql.DateTimeField(help_text="When it was written.")
    lead_id = sql.UUIDField(help_text="The lead that it is about.")


class LeadNoteDetailSerializer(LeadNoteItemSerializer):
    """A note about a lead with its author and the lead, as events have it."""

    exclude = ("lead_id",)
    untracked = (*LeadNoteItemSerializer.untracked, "external_reference", "author", "lead")

    lead = sql.NestedObject(LeadDetailSerializer, help_text="The lead that it is about.")


class CustomFieldDetailSerializer(sql.SQLSerializer):
    """The definition of a custom field, as events have it."""

    model = CustomField

    id = sql.UUIDField(help_text="The custom field's id.")
    entity = sql.OpenChoiceField(CustomField.Entity, help_text="The objects that have the field.")
    key = sql.StringField(help_text="Its key, which doesn't change.")
    label = sql.StringField(help_text="Its name for people.")
    type = sql.OpenChoiceField(CustomField.Type, help_text="The type of its values.")
    options = sql.StringListField(help_text="The values that a SELECT can have; empty for other types.")
    position = sql.IntegerField(help_text="Custom fields are shown in the order of position and key.")


class SourceItemSerializer(SourceSerializer):
    """A source in the sources list."""

    is_active = sql.ConditionField(STORED, help_text="Always true: sources are never retired.")
    updated_at = sql.DateTimeField("created_at", help_text="When it was stored: a source never changes.")


class CustomFieldItemSerializer(sql.SQLSerializer):
    """A custom field in the custom fields list."""

    model = CustomField

    id = sql.UUIDField(help_text="The custom field's id.")
    name = sql.StringField("label", help_text="Its name for people, which leads and appointments show as label.")
    entity = sql.OpenChoiceField(CustomField.Entity, help_text="The objects that have the field.")
    key = sql.StringField(help_text="Its key, which doesn't change.")
    type = sql.OpenChoiceField(CustomField.Type, help_text="The type of its values.")
    options = sql.StringListField(help_text="The values that a SELECT can have; empty for other types.")
    position = sql.IntegerField(help_text="Objects show their custom fields in the order of position and key.")
    is_active = sql.ConditionField(STORED, help_text="Always true: a custom field is deleted, not retired.")
    updated_at = sql.DateTimeField(help_text="When the definition last changed.")


class StatusUpdateSerializer(sql.SQLSerializer):
    """A lead's new status."""

    id = sql.UUIDField(help_text="The lead.")
    status = sql.NestedObject(StatusSerializer, help_text="Its status from now on.")


class UpsertedLeadSerializer(sql.SQLSerializer):
    """The result of creating or completing a lead."""

    id = sql.UUIDField(help_text="The lead's id.")
    is_new = sql.BooleanField(help_text="Whether the request created the lead.")
    changed = sql.StringListField(help_text="The given fields whose values the lead has only now.")
    kept = sql.StringListField(help_text="The given fields of which the lead has another value, which it keeps.")


class ImportedLeadSerializer(ImportedRowSerializer):
    """The result of a row of an import of leads."""

    data = sql.NestedObject(UpsertedLeadSerializer, help_text="The result, if the row was done.")


class LeadImportSerializer(ImportSerializer):
    """The result of an import of leads."""

    rows = ResultsField(ImportedLeadSerializer)


class LeadErasureSerializer(sql.SQLSerializer):
    """A request to erase a lead."""

    id = sql.UUIDField(help_text="The lead's id, which stays.")
    state = sql.StringField(help_text="done, or running: the event `lead.erased` is recorded when it is done.")


class DeletedNoteSerializer(sql.SQLSerializer):
    """The result of deleting a note."""

    id = sql.UUIDField(help_text="The note's id.")


# --- Input

MEMBER = "An active member of the organization who is not a viewer."
OVERWRITABLE = [
    *("first_name", "last_name", "phone_e164", "setter_email", "external_reference", "source", "custom_fields")
]


class PhoneInputSerializer(InputSerializer):
    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the values with a `phone` in place of number and country."""
        phone = parse_e164(values.pop("phone_e164", ""), values.pop("phone_country", ""))
        return values | ({"phone": phone} if phone else {})


class LeadUpsertInputSerializer(PhoneInputSerializer):
    """A lead, found by its e-mail. Known values stay unless `overwrite` names their fields."""

    email = EmailField(help_text="Finds or creates the lead.")
    first_name = NameField(
        required=False, help_text="First name. Defaults to the part of a new lead's e-mail before the @."
    )
    last_name = NameField(required=False, help_text="Last name.")
    phone_e164 = NameField(required=False, help_text="E.164.")
    phone_country = NameField(
        required=False, help_text="ISO 3166-1 alpha-2, in either letter case. Required with phone_e164."
    )
    setter_email = EmailField(required=False, help_text=MEMBER)
    external_reference = StringField(
        required=False, help_text="Your own id of the lead, unique in the organization and compared exactly."
    )
    source = NameField(  # type: ignore[assignment]  # DRF's fields have an attribute of this name
        required=False, help_text="Where the lead comes from. Defaults to MANUAL for a new lead."
    )
    custom_fields = ObjectField(required=False, help_text="Values by the custom fields' keys.")
    overwrite = BoundedListField(
        child=ChoiceField(OVERWRITABLE),
        required=False,
        max_length=len(OVERWRITABLE),
        help_text="The fields whose known values the request replaces.",
    )


class LeadImportInputSerializer(InputSerializer):
    """Leads to create or complete."""

    rows = RowsField(
        child=LeadUpsertInputSerializer(),
        max_length=MAX_ROWS,
        help_text=f"1 to {MAX_ROWS} leads, each as in the request for one. Ten count as one request.",
    )


class StatusUpdateInputSerializer(InputSerializer):
    """The new status of a lead."""

    status_id = UUIDField(help_text="A status of the lead board, from the statuses list.")


class LeadUpdateInputSerializer(UpdateInputSerializer):
    """Changes of a lead. An absent field keeps its value; null clears one that may be null."""

    first_name = NameField(required=False, help_text="First name.")
    last_name = NameField(required=False, allow_null=True, help_text="Last name.")
    phone_e164 = NameField(required=False, allow_null=True, help_text="E.164. null removes the number.")
    phone_country = NameField(
        required=False,
        allow_null=True,
        help_text="ISO 3166-1 alpha-2, in either letter case; required with phone_e164, and sent only with it.",
    )
    setter_email = EmailField(required=False, allow_null=True, help_text=MEMBER)
    external_reference = StringField(
        required=False,
        allow_null=True,
        help_text="Your own id of the lead, unique in the organization and compared exactly. Not shown in responses.",
    )
    custom_fields = ObjectField(
        required=False, help_text="New values by the custom fields' keys. null removes one; others stay."
    )

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the values with a `phone`, None to clear it, in place of number and country."""
        if "phone_e164" in values:
            text, country = values.pop("phone_e164"), values.pop("phone_country", None)
            return values | {"phone": parse_e164(text or "", country or "")}
        if "phone_country" in values:
            raise serializers.ValidationError({"phone_country": ["must be sent together with phone_e164"]})
        return values


class LeadNoteInputSerializer(InputSerializer):
    """A note about a lead."""

    note = LongStringField(help_text="The note's text.")
    external_reference = StringField(
        required=False, help_text="The source system's id of the note. A request that repeats it adds nothing."
    )


class LeadNoteUpdateInputSerializer(UpdateInputSerializer):
    """Changes of a note about a lead."""

    note = LongStringField(required=False, help_text="The note's text.")
