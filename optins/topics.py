"""Webhook event topics of opt-ins."""

from optins.serializers import OptInDetailSerializer
from webhooks.topics import Topic

CREATED = Topic("opt_in.created", OptInDetailSerializer, "A form was submitted, by a new or an existing lead.")
UPDATED = Topic(
    "opt_in.updated", OptInDetailSerializer, "A sync changed an opt-in's answers or traffic source.", is_change=True
)
