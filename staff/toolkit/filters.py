"""List filters by one of some choices, and by a range of days."""

from datetime import date, datetime, time, timedelta
from typing import Any, ClassVar

from django.contrib.admin import ModelAdmin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.contrib.filters.admin import DropdownFilter, RangeDateFilter
from unfold.utils import parse_date_str

from foundation.api.fields import YEARS


class ChoiceFilter(DropdownFilter):
    options: ClassVar[list[tuple[str, str]]]

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> list[tuple[str, str]]:
        return self.options

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of the chosen option. Raises IncorrectLookupParameters for another one."""
        option = self.value()
        if not option:
            return queryset
        if option not in dict(self.lookup_choices):
            raise IncorrectLookupParameters
        return self.filtered(request, queryset, option)

    def filtered(self, request: HttpRequest, rows: QuerySet[Any], option: str) -> QuerySet[Any]:
        raise NotImplementedError


class DayRangeFilter(RangeDateFilter):
    """A filter of a timestamp by whole days in the user's time zone; the last day is included.

    Unfold's own filter ends at the beginning of the last day, and ignores a day that it can't read.
    """

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of these days. Raises IncorrectLookupParameters for an invalid day."""
        for name, lookup, added in (("from", "gte", 0), ("to", "lt", 1)):
            if text := self.used_parameters.get(f"{self.field_path}_{name}"):
                day = datetime.combine(parse_day(text) + timedelta(days=added), time.min)
                queryset = queryset.filter(**{f"{self.field_path}__{lookup}": timezone.make_aware(day)})
        return queryset


def parse_day(text: str) -> date:
    """Return the day of a query parameter. Raises IncorrectLookupParameters unless its year is one of the API's."""
    day = parse_date_str(text)
    if day is None or day.year not in YEARS:
        raise IncorrectLookupParameters
    return day
