"""A list filter by a range of days."""

from datetime import date, datetime, time, timedelta
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.contrib.filters.admin import RangeDateFilter
from unfold.utils import parse_date_str

from foundation.api.fields import YEARS


class DayRangeFilter(RangeDateFilter):
    """A filter of a timestamp by whole days in the user's time zone; the last day is included.

    Unfold's own filter ends at the beginning of the last day, and ignores a day that it can't read.
    """

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of these days. Raises IncorrectLookupParameters for anything but a day of our years."""
        first, last = self.read_day("from"), self.read_day("to")
        if first:
            queryset = queryset.filter(**{f"{self.field_path}__gte": first})
        if last:
            queryset = queryset.filter(**{f"{self.field_path}__lt": last + timedelta(days=1)})
        return queryset

    def read_day(self, name: str) -> datetime | None:
        """Return the beginning of the day in this parameter, or None if it isn't set."""
        text = self.used_parameters.get(f"{self.field_path}_{name}")
        return timezone.make_aware(datetime.combine(parse_day(text), time.min)) if text else None


def parse_day(text: str) -> date:
    """Return the day that the text of a parameter means. Raises IncorrectLookupParameters if it isn't one of ours."""
    day = parse_date_str(text)
    if day is None or day.year not in YEARS:
        raise IncorrectLookupParameters
    return day
