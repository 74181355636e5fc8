"""Serializers of events (docs/interface.md, W3 and W6)."""

from foundation.api import sql_serializers as sql
from foundation.api.sql_serializers import Schema, SchemaResolver
from organizations.serializers import ActorSerializer
from webhooks.topics import AttributionSerializer, topics

OPTIONAL_MEMBERS = ("request_id", "previous", "attribution", "actor")


class TopicField(sql.StringField):
    def schema(self, resolve: SchemaResolver) -> Schema:
        return super().schema(resolve) | {"enum": list(topics())}


class EventDataField(sql.AnyField):
    def schema(self, resolve: SchemaResolver) -> Schema:
        # A dict removes the duplicates (several topics share a serializer) and keeps the order.
        serializers = {topic.serializer: None for topic in topics().values()}
        return {
            "oneOf": [resolve(serializer) for serializer in serializers],
            "description": "The object, as its detail endpoint returned it when the event was recorded.",
        }


class PreviousField(sql.AnyField):
    openapi = {"type": "object", "additionalProperties": True}


class EventSerializer(sql.SQLSerializer):
    """An event. `id` is added in the list of events; a delivery has it in the header `webhook-id` instead."""

    id = sql.UUIDField(help_text="Equals the header webhook-id of the event's deliveries.")
    type = TopicField()
    timestamp = sql.DateTimeField()
    organization_id = sql.UUIDField()
    request_id = sql.StringField(
        null=True,
        help_text="The X-Request-Id of the request that caused the event; null if none did. Older events lack it.",
    )
    data = EventDataField()
    previous = PreviousField(help_text="Present only on changes: the fields that changed, with their old values.")
    attribution = sql.SameRowObject(
        AttributionSerializer,
        help_text="Present only on events of an appointment: the UTM values of its booking. Older events lack it.",
    )
    actor = sql.SameRowObject(
        ActorSerializer, help_text="Who caused the event. Absent from events that version 0.2 recorded."
    )

    @classmethod
    def schema(cls, resolve: SchemaResolver) -> Schema:
        """Return the schema. Members that some topics or old events lack are optional."""
        schema = super().schema(resolve)
        return schema | {"required": [name for name in schema["required"] if name not in OPTIONAL_MEMBERS]}
