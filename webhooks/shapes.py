"""What the interface shows of events (decisions 31 and 35)."""

from typing import Any

from pipeline_backend.api.shapes import Anything, Moment, Resolve, Schema, Shape, Text, Uuid
from webhooks.catalogue import EventType, event_types


class OneOfTheTypes(Text):
    """The name of an event type."""

    def schema(self, resolve: Resolve) -> Schema:
        """With all the names."""
        return super().schema(resolve) | {"enum": list(event_types())}


class Data(Anything):
    """The object the event is about."""

    def schema(self, resolve: Resolve) -> Schema:
        """One of the shapes."""
        shapes = {event_type.shape: None for event_type in event_types().values()}
        return {"oneOf": [resolve(shape) for shape in shapes], "description": "The object as the detail endpoint returns it."}


class Previous(Anything):
    """Old values of what changed."""

    kind = {"type": "object", "additionalProperties": True}


class EventShape(Shape):
    """An event, as receivers get it; the feed adds its id (the header `webhook-id`)."""

    id = Uuid(help="The same as the header webhook-id of its deliveries.")
    type = OneOfTheTypes()
    timestamp = Moment()
    organization_id = Uuid()
    data = Data()
    previous = Previous(help="Only on changes: the fields that changed, with their old values.")

    @classmethod
    def schema(cls, resolve: Resolve) -> Schema:
        """`previous` is there for changes alone."""
        schema = super().schema(resolve)
        return schema | {"required": [name for name in schema["required"] if name != "previous"]}


def body_schema(event_type: EventType, resolve: Resolve) -> dict[str, Any]:
    """The schema of one event type's body."""
    schema = EventShape.schema(resolve)
    properties = {name: part for name, part in schema["properties"].items() if name != "id"}
    properties |= {"type": {"type": "string", "enum": [event_type.name]}, "data": resolve(event_type.shape)}
    return {"type": "object", "properties": properties, "required": ["type", "timestamp", "organization_id", "data"]}
