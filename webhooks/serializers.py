"""Serializers of events (docs/interface.md, W3 and W6), and of endpoints and their deliveries (W30 to W39)."""

from typing import Any

from rest_framework import serializers

from foundation.api import sql_serializers as sql
from foundation.api.fields import (
    MAX_URL_LENGTH,
    BooleanField,
    BoundedListField,
    DateTimeField,
    InputSerializer,
    ObjectField,
    StringField,
    UpdateInputSerializer,
    URLField,
    UUIDField,
)
from foundation.api.sql_serializers import Schema, SchemaResolver
from foundation.outbox import State
from organizations.serializers import ActorSerializer
from webhooks.models import Delivery, Endpoint
from webhooks.topics import AttributionSerializer, topics

MAX_TOPICS = 100
MAX_PAIRS, MAX_PAIR_NAME, MAX_PAIR_VALUE = 20, 40, 500
METADATA: Schema = {
    "type": "object",
    "maxProperties": MAX_PAIRS,
    "additionalProperties": {"type": "string", "maxLength": MAX_PAIR_VALUE},
}

OPTIONAL_MEMBERS = ("is_test", "request_id", "previous", "attribution", "details", "actor")


class TopicObjectField(sql.AnyField):
    """An object that depends on the topic; the topic's webhook documents it."""

    openapi = {"type": "object", "additionalProperties": True}


class EventSerializer(sql.SQLSerializer):
    """An event. Deliveries of those that older versions recorded have the `id` in the header webhook-id only."""

    id = sql.UUIDField(help_text="The event's id. Equals the header webhook-id of its deliveries.")
    type = sql.StringField(help_text="The topic, such as appointment.created. More may be added: ignore unknown ones.")
    timestamp = sql.DateTimeField(help_text="When it happened.")
    organization_id = sql.UUIDField(help_text="The organization that it happened in.")
    is_test = sql.BooleanField(
        openapi={"type": "boolean", "examples": [False]},
        help_text="Whether it is a test organization. Older events lack it.",
    )
    request_id = sql.StringField(
        null=True,
        help_text="The X-Request-Id of the request that caused the event; null if none did. Older events lack it.",
    )
    data = TopicObjectField(
        help_text="The object, as its detail endpoint returned it when the event was recorded. Its shape depends on "
        "`type`: the document's webhooks have each."
    )
    previous = TopicObjectField(help_text="Present only on changes: the fields that changed, with their old values.")
    attribution = sql.SameRowObject(
        AttributionSerializer,
        help_text="Present only on events of an appointment: the UTM values of its booking. Older events lack it.",
    )
    details = TopicObjectField(
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


class WebhookEndpointSerializer(sql.SQLSerializer):
    """A webhook endpoint that an API key made."""

    model = Endpoint

    id = sql.UUIDField(help_text="The endpoint's id.")
    url = sql.StringField(help_text="The URL that deliveries are sent to.")
    topics = sql.StringListField("event_types", help_text="The topics that it receives; none means all.")
    description = sql.StringField(help_text="What the admin shows instead of the URL; may be empty.")
    metadata = sql.Field(openapi=METADATA, help_text="Texts of your own, by name.")
    is_active = sql.BooleanField(help_text="A disabled endpoint receives nothing.")
    disabled_reason = sql.StringField(help_text="Why it is disabled; empty if it isn't.")
    failing_since = sql.DateTimeField(null=True, help_text="The first of its latest failures; null after a success.")
    last_success_at = sql.DateTimeField(null=True, help_text="Its last successful delivery, to 10 seconds.")
    created_at = sql.DateTimeField(help_text="When it was made.")


class CreatedWebhookEndpointSerializer(WebhookEndpointSerializer):
    """A new webhook endpoint, with its signing secret, which is shown only once."""

    secret = sql.StringField(
        null=True, help_text="Verifies signatures; begins with whsec_. Null in a repeat by Idempotency-Key."
    )


class RotatedSecretSerializer(sql.SQLSerializer):
    """A new signing secret, which is shown only once."""

    secret = sql.StringField(
        null=True, help_text="Verifies signatures; begins with whsec_. Null in a repeat by Idempotency-Key."
    )
    previous_secret_until = sql.DateTimeField(help_text="Until then the previous secret signs, too.")


class SentTestSerializer(sql.SQLSerializer):
    """A test event."""

    event_id = sql.UUIDField(help_text="The event's id, as in the header webhook-id.")


class ReplayedSerializer(sql.SQLSerializer):
    """The result of a replay."""

    count = sql.IntegerField(help_text="The number of deliveries that will be sent again.")


class WebhookDeliverySerializer(sql.SQLSerializer):
    """An event's delivery to an endpoint."""

    model = Delivery

    id = sql.UUIDField(help_text="The delivery's id.")
    event_id = sql.UUIDField(help_text="The event's id, as in the header webhook-id.")
    type = sql.StringField("event__type", help_text="The event's topic.")
    state = sql.OpenChoiceField(State, help_text="DEAD after the last attempt has failed.")
    attempts = sql.IntegerField("attempt_count", help_text="The number of attempts, since the last replay.")
    last_error = sql.StringField(help_text="The error of the last attempt, such as timeout or http_500; may be empty.")
    next_attempt_at = sql.DateTimeField(null=True, help_text="When it is sent next; null if it has ended.")
    created_at = sql.DateTimeField(help_text="When the event was recorded.")
    finished_at = sql.DateTimeField(null=True, help_text="When it ended.")


class WebhookTopicSerializer(sql.SQLSerializer):
    """A webhook topic."""

    name = sql.StringField(help_text="The topic, as in an event's type.")
    description = sql.StringField(help_text="When the event happens.")


class TopicField(StringField):
    max_length = 60
    default_error_messages = {"null": "must be a string"}

    def parse(self, text: str) -> str:
        if text not in topics():
            raise ValueError(f"must be one of: {', '.join(topics())}")
        return text


class MetadataField(ObjectField):
    """Texts by name."""

    openapi = METADATA
    default_error_messages = {
        "pairs": f"must have at most {MAX_PAIRS} names of 1 to {MAX_PAIR_NAME} characters",
        "texts": f"must have texts of at most {MAX_PAIR_VALUE} characters as values",
    }

    def to_internal_value(self, data: object) -> dict[str, str]:
        pairs = super().to_internal_value(data)
        if len(pairs) > MAX_PAIRS or any(not 1 <= len(name) <= MAX_PAIR_NAME for name in pairs):
            self.fail("pairs")
        if any(not isinstance(text, str) or len(text) > MAX_PAIR_VALUE for text in pairs.values()):
            self.fail("texts")
        return pairs


def topics_field(**options: Any) -> BoundedListField:
    help_text = "Topics, such as appointment.created. Without any, the endpoint receives all, also future ones."
    return BoundedListField(child=TopicField(), max_length=MAX_TOPICS, required=False, help_text=help_text, **options)


class EndpointInputSerializer(InputSerializer):
    """A webhook endpoint."""

    url = URLField(help_text=f"A public https URL of at most {MAX_URL_LENGTH} ASCII characters.")
    topics = topics_field(allow_null=True)
    description = StringField(required=False, help_text="What the admin shows instead of the URL.")
    metadata = MetadataField(
        required=False,
        allow_null=True,
        help_text=f"Texts of your own: at most {MAX_PAIRS}, with names of up to {MAX_PAIR_NAME} characters.",
    )


class EndpointUpdateInputSerializer(UpdateInputSerializer):
    """Changes of a webhook endpoint. An absent field keeps its value; null clears one that may be null."""

    url = URLField(required=False, help_text="A public https URL.")
    topics = topics_field(allow_null=True)
    description = StringField(required=False, allow_null=True, help_text="What the admin shows instead of the URL.")
    metadata = MetadataField(required=False, allow_null=True, help_text="Replaces all texts of your own.")
    is_active = BooleanField(required=False, help_text="false disables the endpoint; true enables it.")


class ReplayInputSerializer(InputSerializer):
    """What to send again: one delivery, or what the endpoint missed in a period."""

    require_one_of = (("since", "delivery_id"),)

    delivery_id = UUIDField(required=False, help_text="A delivery that has ended or waits for its next attempt.")
    since = DateTimeField(required=False, help_text="The start of the period.")
    until = DateTimeField(required=False, help_text="The end of the period; now by default.")
    topics = topics_field()

    def validate(self, values: dict[str, Any]) -> dict[str, Any]:
        if "delivery_id" in values and len(values) > 1:
            raise serializers.ValidationError({"delivery_id": ["can't be combined with other fields"]})
        return values
