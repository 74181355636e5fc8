"""Labels of fields and models in the admin: sentence case, with the usual spelling of abbreviations."""

import re

from django.apps import apps
from django.db.models import Field

SPELLING = {
    "ai": "AI",
    "api": "API",
    "email": "e-mail",
    "id": "ID",
    "ip": "IP",
    "opt in": "opt-in",
    "slack": "Slack",
    "url": "URL",
    "utm": "UTM",
}
# What people call fields that have another name in the API.
FIELD_LABELS = {
    "meeting_url": "meeting link",
    "next_touch_point_at": "next step date",
    "next_touch_point_type": "next step",
    "recording_url": "recording link",
    "schedule_time": "date and time",
}
WORD = re.compile(rf"\b({'|'.join(SPELLING)})\b")
# As the menu calls them.
MODEL_NAMES = {
    "leads.possibleduplicate": ("possible duplicate", "duplicates"),
    "organizations.membership": ("member", "members"),
    "webhooks.endpoint": ("webhook endpoint", "webhook endpoints"),
}


def label(text: str) -> str:
    """Return the label for a field's name: "UTM source", or "active" for "is active". Templates capitalize it."""
    return WORD.sub(lambda match: SPELLING[match[0]], text.removeprefix("is ").removesuffix(" at"))


def apply_labels() -> None:
    """Give the fields and models their labels. Migrations store only names that a model gives itself."""
    for model in apps.get_models():
        if model.__module__.startswith("django"):
            continue
        for field in model._meta.get_fields():
            if isinstance(field, Field):
                field.verbose_name = FIELD_LABELS.get(field.name) or label(str(field.verbose_name))
        if names := MODEL_NAMES.get(model._meta.label_lower):
            model._meta.verbose_name, model._meta.verbose_name_plural = names
