"""Labels of fields and models in the admin: sentence case, with the usual spelling of abbreviations."""

import re
from collections.abc import Iterable

from django.apps import apps
from django.db.models import Field, Model

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
WORD = re.compile(rf"\b({'|'.join(SPELLING)})\b")
# As the menu calls them.
MODEL_NAMES = {
    "leads.possibleduplicate": ("possible duplicate", "duplicates"),
    "organizations.membership": ("member", "members"),
    "webhooks.endpoint": ("webhook endpoint", "webhook endpoints"),
}


def label(text: str) -> str:
    """Return the label for a field's name in words, such as "UTM source"; "is active" is "active".

    It begins with a small letter, as Django's names do; templates make it a capital one.
    """
    return WORD.sub(lambda match: SPELLING[match[0]], text.removeprefix("is ").removesuffix(" at"))


def apply_labels(models: Iterable[type[Model]] | None = None) -> None:
    """Give the fields and models their labels. Migrations store only names that a model gives itself."""
    for model in models or apps.get_models():
        if model.__module__.startswith("django"):
            continue
        for field in model._meta.get_fields():
            if isinstance(field, Field):
                field.verbose_name = label(str(field.verbose_name))
        if names := MODEL_NAMES.get(model._meta.label_lower):
            model._meta.verbose_name, model._meta.verbose_name_plural = names
