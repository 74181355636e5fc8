"""The webhooks in the OpenAPI document: one operation for each topic."""

from typing import Any

from foundation.api.openapi import component_name
from foundation.api.sql_serializers import Schema, SQLSerializer
from webhooks.serializers import EventSerializer
from webhooks.topics import Topic, topics

HEADERS = {
    "webhook-id": "The event's id, the same over retries and replays.",
    "webhook-timestamp": "When the attempt was made, in seconds since 1970.",
    "webhook-signature": "The signatures of id, timestamp and body, as Standard Webhooks defines them.",
}


def add_webhooks(result: Schema, **_: Any) -> Schema:
    """Add the request that each topic sends to endpoints. A postprocessing hook of drf-spectacular."""
    return result | {"webhooks": {name: {"post": describe_request(topic)} for name, topic in topics().items()}}


def describe_request(topic: Topic) -> Schema:
    parameters = [
        {"in": "header", "name": name, "required": True, "schema": {"type": "string"}, "description": text}
        for name, text in HEADERS.items()
    ]
    return {
        "summary": topic.summary,
        "operationId": topic.name,
        "tags": ["Webhooks"],
        "parameters": parameters,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body_schema(topic)}}},
        "responses": {"2XX": {"description": "Received. After any other response the event is sent again."}},
    }


def body_schema(topic: Topic) -> Schema:
    """Return the schema of the body: an event of this type. Its id is in a header."""
    event = EventSerializer.schema(reference)
    properties = event["properties"] | {"type": {"const": topic.name}, "data": reference(topic.serializer)}
    old_values = {name: topic.serializer.fields[name].schema(reference) for name in topic.previous}
    previous = {"properties": old_values, "additionalProperties": False}
    properties["previous"] = properties["previous"] | previous
    absent = {"id": True, "previous": not topic.previous, "attribution": not topic.has_attribution}
    properties = {name: schema for name, schema in properties.items() if not absent.get(name)}
    return {"type": "object", "properties": properties, "required": list(properties)}


def reference(serializer: type[SQLSerializer]) -> Schema:
    """Return the reference to a serializer's component, which is in the document because the events list shows it."""
    return {"$ref": f"#/components/schemas/{component_name(serializer)}"}
