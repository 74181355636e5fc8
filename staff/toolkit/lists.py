"""Limits of lists, which may have any number of rows."""

from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.core.paginator import Page, Paginator
from django.db.models import BooleanField, F, Func
from django.utils.functional import cached_property

MAX_COUNT = 10_000  # rows that a list counts, shows page by page, and sorts without an index
# A search compares each word with each search field, so its cost grows with the number of words.
MAX_SEARCH_WORDS, MAX_SEARCH_LENGTH = 10, 200


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
        """Return the page, whose ids are read first, in the same statement: nothing is joined with rows before it."""
        page = super().page(number)
        rows: Any = self.object_list
        ids: Any = page.object_list
        # An array, because the planner would join a subquery's rows with the others in an order that takes seconds.
        is_on_page = Func(
            F("pk"),
            ArraySubquery(ids.values("pk")),
            template="(%(expressions)s))",
            arg_joiner=" = ANY(",
            output_field=BooleanField(),
        )
        page.object_list = rows.filter(is_on_page)
        return page
