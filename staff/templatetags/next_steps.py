"""When a lead's next step is due, in words."""

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.formats import date_format

register = template.Library()


@register.filter
def due(at: datetime) -> str:
    """Return when a step is due, seen from now: "due yesterday", "today, 10:00", "Mon 23 Nov 2026, 10:00"."""
    local = timezone.localtime(at)
    days = (local.date() - timezone.localdate()).days
    if days < 0:
        return "due yesterday" if days == -1 else f"due {-days} days ago"
    time = date_format(local, "TIME_FORMAT")
    if days == 0:
        return f"due since {time}" if is_due(at) else f"today, {time}"
    return f"tomorrow, {time}" if days == 1 else date_format(local, "DATETIME_FORMAT")


@register.filter
def is_due(at: datetime) -> bool:
    return at <= timezone.now()
