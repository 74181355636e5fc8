"""The event that only tests a connection."""

from pipeline_backend.api.shapes import Shape, Text
from webhooks.catalogue import EventType


class TestData(Shape):
    """What a test event carries."""

    message = Text()


TEST = EventType("webhook.test", shape=TestData, summary="Sent by hand from the admin, to see whether the receiver answers.")
