"""What happens to opt-ins."""

from optins.serializers import OptInDetailSerializer
from webhooks.topics import Topic

CREATED = Topic(
    "opt_in.created", serializer=OptInDetailSerializer, summary="A form was submitted; the lead is new or was known."
)
