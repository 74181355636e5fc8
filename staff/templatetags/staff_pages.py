"""Template filters and tags of staff pages: times in words, and the address at which an open page asks for updates."""

from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import template
from django.db.models import Model
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from accounts.time_zone import describe_zone
from foundation.db.timestamps import now
from staff.updates import RECORDS, TOPICS

register = template.Library()
register.filter("zone", describe_zone)
# Of the page's own statements: what is committed while they run is said, maybe although the page has it.
MARGIN = timedelta(seconds=1)


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


@register.inclusion_tag("staff/note_buttons.html", takes_context=True)
def note_buttons(context: Any, note: Any) -> dict[str, object]:
    """Show what the user may do with a note."""
    # Unfold renders a widget while it is imported, and so this module is imported before its own.
    from staff import notes  # noqa: PLC0415
    from staff.toolkit.actions import row_url  # noqa: PLC0415

    request, urls = context["request"], {}
    if notes.may_edit(request, note):
        urls["edit_url"] = row_url(note)
        urls["delete_url"] = reverse(f"admin:{note._meta.app_label}_{note._meta.model_name}_delete", args=[note.pk])
    if notes.may_note(request, note):
        button = (notes.unpin if note.is_pinned else notes.pin).button
        urls |= {"pin_url": button.url(note), "pin_label": button.label}
    return {**urls, "csrf_token": context.get("csrf_token")}


@register.simple_tag
def updates_url(page: str, row: Model | None = None) -> str:
    """Return the address for a list, for Home or for a row's record; empty for others."""
    if page not in (RECORDS if row else TOPICS):
        return ""
    parameters = {"page": page, "since": (now() - MARGIN).isoformat(), **({"id": row.pk} if row else {})}
    return f"{reverse('admin:updates')}?{urlencode(parameters)}"
