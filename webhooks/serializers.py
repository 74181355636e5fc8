"""What the interface shows of events (decisions 31 and 35)."""

from typing import Any

from pipeline_backend.api import sql_serializers as sql
from pipeline_backend.api.sql_serializers import Schema, SchemaResolver
from webhooks.topics import Topic, topics


class OneOfTheTypes(sql.StringField):
    """The name of an event type."""

    def schema(self, resolve: SchemaResolver) -> Schema:
        """With all the names."""
        return super().schema(resolve) | {"enum": list(topics())}


class Data(sql.AnyField):
    """The object the event is about."""

    def schema(self, resolve: SchemaResolver) -> Schema:
        """One of the shapes."""
        shapes = {event_type.serializer: None for event_type in topics().values()}
        return {
            "oneOf": [resolve(shape) for shape in shapes],
            "description": "The object as the detail endpoint returns it.",
        }


class Previous(sql.AnyField):
    """Old values of what changed."""

    kind = {"type": "object", "additionalProperties": True}


class EventSerializer(sql.SQLSerializer):
    """An event, as receivers get it; the feed adds its id (the header `webhook-id`)."""

    id = sql.UUIDField(help="The same as the header webhook-id of its deliveries.")
    type = OneOfTheTypes()
    timestamp = sql.DateTimeField()
    organization_id = sql.UUIDField()
    data = Data()
    previous = Previous(help="Only on changes: the fields that changed, with their old values.")

    @classmethod
    def schema(cls, resolve: SchemaResolver) -> Schema:
        """`previous` is there for changes alone."""
        schema = super().schema(resolve)
        return schema | {"required": [name for name in schema["required"] if name != "previous"]}


def body_schema(event_type: Topic, resolve: SchemaResolver) -> dict[str, Any]:
    """The schema of one event type's body."""
    schema = EventSerializer.schema(resolve)
    properties = {name: part for name, part in schema["properties"].items() if name != "id"}
    properties |= {"type": {"type": "string", "enum": [event_type.name]}, "data": resolve(event_type.serializer)}
    return {"type": "object", "properties": properties, "required": ["type", "timestamp", "organization_id", "data"]}
