"""The webhooks in the OpenAPI document: one operation and one named body for each topic."""

from functools import cache
from typing import Any

from foundation.api.openapi import component, component_name, object_schema
from foundation.api.openapi_examples import with_example
from foundation.api.sql_serializers import Schema, SchemaResolver, SQLSerializer
from webhooks.serializers import EventSerializer
from webhooks.topics import Topic, topics

HEADERS = {
    "webhook-id": "The event's id, the same over retries and replays.",
    "webhook-timestamp": "When the attempt was made, in seconds since 1970.",
    "webhook-signature": "The signatures of id, timestamp and body, as Standard Webhooks defines them.",
}
PARAMETERS = {
    name: {"in": "header", "name": name, "required": True, "schema": {"type": "string"}, "description": text}
    for name, text in HEADERS.items()
}


def add_webhooks(result: Schema, **_: Any) -> Schema:
    """Add the request that each topic sends to endpoints. A postprocessing hook of drf-spectacular."""
    components = result["components"]["schemas"]
    result["components"]["parameters"] = PARAMETERS

    def resolve(serializer: type[SQLSerializer]) -> Schema:
        """Return the reference to a serializer's component, which is added if only webhooks have it."""
        name = component_name(serializer)
        if name not in components:
            components[name] = serializer.schema(resolve)
        return component(name)

    return result | {
        "webhooks": {name: {"post": describe(topic, components, resolve)} for name, topic in topics().items()}
    }


def describe(topic: Topic, components: Schema, resolve: SchemaResolver) -> Schema:
    """Return the operation of a topic; add the components of its body."""
    subject = topic.name.title().replace(".", "").replace("_", "")  # such as OptInCreated
    event = EventSerializer.schema(resolve)["properties"]
    members = event | {"type": event["type"] | {"enum": [topic.name]}, "data": resolve(topic.serializer)}
    if topic.previous:
        old_values = {name: topic.serializer.fields[name].schema(resolve) for name in topic.previous}
        previous = object_schema("The fields that changed, with their old values.", old_values)
        components[f"{subject}Previous"] = previous | {"required": [], "additionalProperties": False}
        members["previous"] = component(f"{subject}Previous")
    if topic.details:
        members["details"] = resolve(topic.details)
    absent = {"previous": not topic.previous, "attribution": not topic.has_attribution}
    absent["details"] = not topic.details
    members = {name: schema for name, schema in members.items() if not absent.get(name)}
    components[f"{subject}Event"] = object_schema(topic.summary, members)
    body = with_example({"schema": component(f"{subject}Event")}, components)
    return {
        "summary": topic.summary,
        "operationId": topic.name,
        "tags": ["Webhooks"],
        "security": [],
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in PARAMETERS],
        "requestBody": {"required": True, "content": {"application/json": body}},
        "responses": {"2XX": {"description": "Received. After any other response the event is sent again."}},
    }


@cache
def topic_examples() -> dict[str, Schema]:
    webhooks = add_webhooks({"components": {"schemas": {}}})["webhooks"]
    return {
        name: item["post"]["requestBody"]["content"]["application/json"]["example"] for name, item in webhooks.items()
    }
