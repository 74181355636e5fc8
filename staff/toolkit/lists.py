"""Parts of lists: pages of bounded size, filters, and columns."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date, datetime, time, timedelta
from typing import Any, ClassVar
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import BadRequest, ValidationError
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.timesince import timesince
from unfold.contrib.filters.admin import DropdownFilter, RangeDateFilter

from foundation.db.expressions import is_any_of
from foundation.db.timestamps import now
from staff.toolkit.times import DayField

MAX_COUNT = 10_000  # rows that a list counts, shows page by page, and sorts without an index
# A search compares each word with each search field, so its cost grows with the number of words.
MAX_SEARCH_WORDS, MAX_SEARCH_LENGTH = 10, 200
SEARCH_LIMIT = f"Search for at most {MAX_SEARCH_WORDS} words and {MAX_SEARCH_LENGTH} characters."
MAX_QUOTED = 40  # characters of what a person typed
MAX_QUERY = 2_000  # characters of an address to return to
NOTHING = "–"
SOON = timedelta(hours=2)
DAYS = {-1: "Yesterday", 0: "Today", 1: "Tomorrow"}


def to_uuid(text: str) -> UUID:
    """Return the id in an address, or the nil UUID, which no row has, for any other text."""
    try:
        return UUID(text)
    except ValueError:
        return UUID(int=0)


class BoundedCount(int):
    """A number of rows; beyond MAX_COUNT it only says that there are more."""

    def __str__(self) -> str:
        return f"more than {MAX_COUNT:,}" if self > MAX_COUNT else f"{int(self):,}"


class BoundedPaginator(Paginator):
    """Pages of the first MAX_COUNT rows; no more are counted, because counting a large table takes seconds."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return BoundedCount(rows.order_by()[: MAX_COUNT + 1].count())

    @cached_property
    def num_pages(self) -> int:
        return max(1, -(-min(self.count, MAX_COUNT) // self.per_page))

    def page(self, number: int | str) -> "Page[Any]":
        """Return the page. A subquery chooses its ids, so that PostgreSQL joins only these rows.

        If there is only one page, the subquery isn't limited to the counted rows: a row that was added since the count
        would push out another.
        """
        page = super().page(number)
        rows: Any = self.object_list
        ids: Any = page.object_list if self.num_pages > 1 else rows.order_by()[: MAX_COUNT + 1]
        # The planner would join a subquery's rows with the others in an order that takes seconds.
        page.object_list = rows.filter(is_any_of("pk", ArraySubquery(ids.values("pk"))))[: self.per_page]
        return page


class Unreadable(BadRequest):
    """A text that a person typed into a filter. The list is shown without this parameter, and with the message."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(message)
        self.parameter = parameter


@contextmanager
def typed(parameter: str, label: str, text: str) -> Iterator[None]:
    """Raise Unreadable if the block can't read the text that was typed at the label."""
    try:
        yield
    except IncorrectLookupParameters as error:
        message = f"{capfirst(label)}: {error} You typed “{text[:MAX_QUOTED]}”."
        raise Unreadable(parameter, message) from None


class TitledFilter:
    """A filter whose label is its title, without Unfold's "By"."""

    title: str

    def choices(self, changelist: Any) -> Iterator[Any]:
        for choice in super().choices(changelist):  # type: ignore[misc]
            for field in choice["form"].fields.values():
                field.label = capfirst(self.title)
            yield choice


class ChoiceFilter(TitledFilter, DropdownFilter):
    options: ClassVar[list[tuple[str, str]]]

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, str]]:
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

    def describe(self) -> str:
        return str(dict(self.lookup_choices).get(self.value(), ""))


def choice_filter(
    title: str,
    parameter: str,
    options: list[tuple[str, str]],
    filtered: Callable[[HttpRequest, QuerySet[Any], str], QuerySet[Any]],
) -> type[ChoiceFilter]:
    """Return the filter that shows `filtered(request, rows, option)` for the chosen option."""
    values = {"title": title, "parameter_name": parameter, "options": options, "filtered": staticmethod(filtered)}
    return type("ChoiceFilter", (ChoiceFilter,), values)


class DayRangeFilter(RangeDateFilter):
    """A filter of a timestamp by whole days in the user's time zone; the last day is included.

    Unfold's own filter ends at the beginning of the last day, and ignores a day that it can't read.
    """

    template = "staff/day_range.html"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows of these days. Raises Unreadable."""
        for name, lookup, added in (("from", "gte", 0), ("to", "lt", 1)):
            parameter = f"{self.field_path}_{name}"
            if text := self.used_parameters.get(parameter):
                with typed(parameter, f"{self.title} {name}", text):
                    day = datetime.combine(parse_day(text) + timedelta(days=added), time.min)
                queryset = queryset.filter(**{f"{self.field_path}__{lookup}": timezone.make_aware(day)})
        return queryset

    def describe(self) -> str:
        return describe_days(*(self.used_parameters.get(f"{self.field_path}_{name}") for name in ("from", "to")))


def describe_days(first: str | None, last: str | None) -> str:
    days = [(word, parse_day(text, of_any_year=True)) for word, text in (("from", first), ("to", last)) if text]
    return " ".join(f"{word} {date_format(day, 'j M Y')}" for word, day in days)


def parse_day(text: str, *, of_any_year: bool = False) -> date:
    """Return the day of a query parameter. Raises IncorrectLookupParameters unless its year is one of the API's."""
    field = DayField()
    if of_any_year:
        field.validators = []
    try:
        day: date = field.clean(text)
    except ValidationError as error:
        raise IncorrectLookupParameters(error.messages[0]) from None
    return day


def is_too_long_to_search(text: str) -> bool:
    return len(text) > MAX_SEARCH_LENGTH or len(text.split()) > MAX_SEARCH_WORDS


def two_lines(first: object, second: object) -> SafeString:
    return format_html('<span class="list-cell"><span>{}</span><small>{}</small></span>', first, second)


def day_and_time(at: datetime | None, *, with_distance: bool = True) -> SafeString | str:
    """Return a time of the user's zone with its day, and how far it is from now if that is less than two hours."""
    if at is None:
        return NOTHING
    local, present = timezone.localtime(at), now()
    today = timezone.localdate(present)
    day_format = "D j M" if local.year == today.year else "D j M Y"
    day = DAYS.get((local.date() - today).days) or date_format(local, day_format)
    text = f"{day}, {date_format(local, 'TIME_FORMAT')}"
    if not with_distance or abs(at - present) >= SOON:
        return text
    if abs(at - present) < timedelta(minutes=1):
        return two_lines(text, "now")
    return two_lines(text, f"in {timesince(present, at)}" if at > present else f"{timesince(at, present)} ago")


def referring_list_url(request: HttpRequest, *names: str) -> str:
    """Return the address of the list that the request comes from if it has one of these names; else ""."""
    with suppress(ValueError):  # the header is no address
        came_from = urlsplit(request.headers.get("referer", ""))
        # Django refuses to redirect to long addresses, when the change is already stored.
        if came_from.path in map(reverse, names) and len(came_from.query) <= MAX_QUERY:
            return f"{came_from.path}?{came_from.query}"
    return ""


def column(label: str, value: Callable[[Any], object], **options: Any) -> Callable[[object, Model], object]:
    """Return a page's method that shows the value of a row; the options are those of `admin.display`."""

    def show(page: object, row: Model) -> object:
        return value(row)

    method: Callable[[object, Model], object] = admin.display(description=label, **options)(show)
    return method


def time_column(name: str, label: str) -> Callable[[object, Model], object]:
    return column(label, lambda row: day_and_time(getattr(row, name)), ordering=name)
