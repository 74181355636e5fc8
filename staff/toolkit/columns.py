"""Cells of lists: times near now, and two lines."""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.contrib import admin
from django.db.models import Model
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from foundation.db.timestamps import now

NOTHING = "–"
SOON = timedelta(hours=2)
DAYS = {-1: "Yesterday", 0: "Today", 1: "Tomorrow"}


def two_lines(first: object, second: object) -> SafeString:
    return format_html('<span class="list-cell"><span>{}</span><small>{}</small></span>', first, second)


def day_and_time(time: datetime | None) -> SafeString | str:
    """Return a time of the user's zone with its day, and how far it is from now if that is less than two hours."""
    if time is None:
        return NOTHING
    local, at = timezone.localtime(time), now()
    days = (local.date() - timezone.localdate(at)).days
    day = DAYS.get(days) or date_format(local, "D j M" if local.year == timezone.localdate(at).year else "D j M Y")
    text = f"{day}, {date_format(local, 'TIME_FORMAT')}"
    if abs(time - at) >= SOON:
        return text
    if abs(time - at) < timedelta(minutes=1):
        return two_lines(text, "now")
    return two_lines(text, f"in {timesince(at, time)}" if time > at else f"{timesince(time, at)} ago")


def time_column(name: str, label: str) -> Callable[[object, Model], SafeString | str]:
    @admin.display(description=label, ordering=name)
    def column(page: object, row: Model) -> SafeString | str:
        return day_and_time(getattr(row, name))

    return column
