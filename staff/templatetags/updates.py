"""The address at which an open page asks for updates."""

from datetime import timedelta
from urllib.parse import urlencode

from django import template
from django.db.models import Model
from django.urls import reverse

from foundation.db.timestamps import now
from staff.updates import RECORDS, TOPICS

register = template.Library()
# Of the page's own statements: what is committed while they run is said, maybe although the page has it.
MARGIN = timedelta(seconds=1)


@register.simple_tag
def updates_url(page: str, row: Model | None = None) -> str:
    """Return the address for a list, for Home or for a row's record; empty for others."""
    if page not in (RECORDS if row else TOPICS):
        return ""
    parameters = {"page": page, "since": (now() - MARGIN).isoformat(), **({"id": row.pk} if row else {})}
    return f"{reverse('admin:updates')}?{urlencode(parameters)}"
