"""Lists of any number of rows: counting, looking up and sorting are bounded."""

from typing import Any

from django.contrib.admin.views.main import ORDER_VAR
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import BadRequest
from django.core.paginator import Page, Paginator
from django.db.models import BooleanField, F, Func, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from unfold.views import ChangeList

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


class BoundedChangeList(ChangeList):
    """A list that executes only the lookups that its filters offer, and the orders that are fast.

    Django's own list executes any lookup on the table's columns, such as a regular expression that takes minutes. It
    also sorts any number of rows by any column.
    """

    model_admin: Any  # a ServiceAdmin, whose module imports this one
    queryset: QuerySet[Any]
    view: Any = None  # a `View`; its module imports this one
    is_too_large_to_sort = False

    def empty(self) -> dict[str, object]:
        """Return the text of a list without rows. `is_new`: there are none that a filter, search or view hides."""
        name = self.opts.verbose_name_plural
        if not self.root_queryset.exists():
            return {"title": f"No {name} yet", "text": self.model_admin.empty_text, "is_new": True}
        if self.view and self.view.empty and not self.query and not self.has_active_filters:
            return {"title": f"No {name} here", "text": self.view.empty}
        return {"title": f"No {name} found", "text": "None match the filters and the search."}

    def get_filters(self, request: HttpRequest) -> tuple[Any, ...]:
        """Return Django's parse of the filters. Raises BadRequest if a parameter belongs to none of them."""
        filters: tuple[Any, ...] = super().get_filters(request)
        remaining_parameters = filters[2]
        if not remaining_parameters.keys() <= set(self.model_admin.lookups_of_links):
            raise BadRequest("The list has no such filter.")
        return filters

    def get_results(self, request: HttpRequest) -> None:
        """Read a page. The heading counts what a search or filters have left, with a link to all rows."""
        self.drop_slow_order(request)
        super().get_results(request)
        if not self.query and not self.has_active_filters:
            self.full_result_count = self.result_count

    def drop_slow_order(self, request: HttpRequest) -> None:
        """Return to the list's own order if more than MAX_COUNT rows are to be sorted without an index."""
        if ORDER_VAR not in self.params or self.is_sorted_by_index:
            return
        rows = self.queryset.order_by()
        if rows[: MAX_COUNT + 1].count() > MAX_COUNT:
            del self.params[ORDER_VAR], self.filter_params[ORDER_VAR]
            self.queryset = rows.order_by(*self.get_ordering(request, rows))
            self.is_too_large_to_sort = True

    @property
    def is_sorted_by_index(self) -> bool:
        """Whether an index of all rows of an organization begins with the chosen order."""
        first = self.queryset.query.order_by[0]
        indexes = [[name.lstrip("-") for name in index.fields] for index in self.opts.indexes if not index.condition]
        return isinstance(first, str) and ["organization", first.lstrip("-"), "id"] in indexes
