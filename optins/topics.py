"""Webhook event topics of opt-ins."""

from optins.serializers import OptInDetailSerializer
from webhooks.topics import Topic

CREATED = Topic("opt_in.created", OptInDetailSerializer, "A form was submitted, by a new or an existing lead.")
