"""Serializers of events (docs/interface.md, W3 and W6)."""

from foundation.api import sql_serializers as sql
from foundation.api.sql_serializers import Schema, SchemaResolver
from organizations.serializers import ActorSerializer
from webhooks.topics import AttributionSerializer

OPTIONAL_MEMBERS = ("request_id", "previous", "attribution", "details", "actor")


class ObjectField(sql.AnyField):
    """An object that depends on the topic; the topic's webhook documents it."""

    openapi = {"type": "object", "additionalProperties": True}


class EventSerializer(sql.SQLSerializer):
    """An event. `id` is added in the list of events; a delivery has it in the header `webhook-id` instead."""

    id = sql.UUIDField(help_text="Equals the header webhook-id of the event's deliveries.")
    type = sql.StringField(help_text="The topic, such as appointment.created. More may be added: ignore unknown ones.")
    timestamp = sql.DateTimeField(help_text="When it happened.")
    organization_id = sql.UUIDField(help_text="The organization that it happened in.")
    request_id = sql.StringField(
        null=True,
        help_text="The X-Request-Id of the request that caused the event; null if none did. Older events lack it.",
    )
    data = ObjectField(
        help_text="The object, as its detail endpoint returned it when the event was recorded. Its shape depends on "
        "`type`: the document's webhooks have each."
    )
    previous = ObjectField(help_text="Present only on changes: the fields that changed, with their old values.")
    attribution = sql.SameRowObject(
        AttributionSerializer,
        help_text="Present only on events of an appointment: the UTM values of its booking. Older events lack it.",
    )
    details = ObjectField(
        help_text="Present only on events of an appointment that was rescheduled or canceled: what the request said "
        "about it. Older events lack it."
    )
    actor = sql.SameRowObject(
        ActorSerializer, help_text="Who caused the event. Absent from events that version 0.2 recorded."
    )

    @classmethod
    def schema(cls, resolve: SchemaResolver) -> Schema:
        """Return the schema. Members that some topics or old events lack are optional."""
        schema = super().schema(resolve)
        return schema | {"required": [name for name in schema["required"] if name not in OPTIONAL_MEMBERS]}
