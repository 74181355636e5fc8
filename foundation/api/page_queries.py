"""The statement that reads one page of a list: the total, and the ids of the page's rows, fast at any size.

Counting costs more the more rows match, and reading the page must not cost more than counting. Two strategies:

- *index order*: one index has the filter and the list's order. The page is a short scan of that index.
- *probe, then sort*: no index has both. Walk a bounded number of rows along the list's order; if the page isn't among
  them, or if few rows match anyway, sort what the filter's own index gives.

Why not leave this to the planner: given `ORDER BY created_at LIMIT 10`, it scans the index of the order and expects to
meet ten matching rows soon. It can't know that the values are correlated (old appointments were booked long ago), and
then it passes a million rows to find ten. docs/performance.md has the figures, and why there are no other strategies.

In both strategies:

- `limit`, `offset` and `end` (their sum) are literals: with parameters PostgreSQL would not see that they are small.
- The page is not read if the total shows that it lies past the end of the list.
- A query that one index can count is counted up to `FEW_ROWS` first: the plan for many rows has parallel workers, which
  take longer to start than a single process takes to count ten thousand index entries.
"""

from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from foundation.db.compiled import Params

PROBE_ROWS = 2_000  # rows to walk along the list's order before what the filter's index gives is sorted
FEW_ROWS = 10_000  # rows that a single process counts faster than parallel workers, and sorts faster than it probes

COUNT = "SELECT count(*) AS total FROM ({matching}) AS matching"

COUNT_FEW_FIRST = """
    SELECT CASE
        WHEN first_rows.total <= {few_rows} THEN first_rows.total
        ELSE (SELECT count(*) FROM ({matching}) AS matching)
    END AS total
    FROM (SELECT count(*) AS total FROM ({matching} LIMIT {few_rows} + 1) AS matching) AS first_rows
"""

INDEX_ORDER = """
WITH counted AS MATERIALIZED ({count}),
page AS (
    SELECT id FROM ({matching}) AS matching (id, sort_key)
    ORDER BY sort_key {direction}, id {direction} LIMIT {limit} OFFSET {offset}
)
SELECT total, CASE WHEN total > {offset} THEN ARRAY(SELECT id FROM page) ELSE ARRAY[]::uuid[] END
FROM counted
"""

# `probed` has the first matching rows among the next PROBE_ROWS of the list's order. If these are as many as the page
# needs, the page is among them. The comparison with `boundary` must stay a bare subquery: under row-level security,
# PostgreSQL doesn't use an expression as an index condition if evaluating it could reveal something about a row.
# In `sorted_page`, `interval '0'` keeps PostgreSQL from scanning the index of the order.
PROBE_THEN_SORT = """
WITH counted AS MATERIALIZED ({count}),
boundary AS (
    SELECT sort_key FROM ({in_order}) AS in_order (id, sort_key)
    ORDER BY sort_key {direction} LIMIT 1 OFFSET {probe_rows}
),
probed AS MATERIALIZED (
    SELECT id, sort_key FROM ({matching}) AS matching (id, sort_key)
    WHERE sort_key {not_after} (SELECT sort_key FROM boundary)
    ORDER BY sort_key {direction}, id {direction} LIMIT {end}
),
probed_page AS (
    SELECT id FROM probed
    ORDER BY sort_key {direction}, id {direction} LIMIT {limit} OFFSET {offset}
),
sorted_page AS (
    SELECT id FROM ({matching}) AS matching (id, sort_key)
    ORDER BY sort_key + interval '0' {direction}, id {direction} LIMIT {limit} OFFSET {offset}
)
SELECT total, CASE
    WHEN total <= {offset} THEN ARRAY[]::uuid[]
    WHEN total > {few_rows} AND (SELECT count(*) FROM probed) = least(total, {end})
        THEN ARRAY(SELECT id FROM probed_page)
    ELSE ARRAY(SELECT id FROM sorted_page)
END
FROM counted
"""


class SqlPart(NamedTuple):
    sql: str
    params: Params


class PagePosition(NamedTuple):
    """A page: the order of its list (a column, with "-" for descending; the id breaks ties), and its offsets."""

    ordering: str
    offset: int
    limit: int

    @property
    def column(self) -> str:
        return self.ordering.removeprefix("-")

    @property
    def is_descending(self) -> bool:
        return self.ordering.startswith("-")


def matching_rows(rows: QuerySet, column: str) -> SqlPart:
    """Return the query of the rows' ids and sort keys, without an order."""
    sql, params = rows.order_by().values_list("id", column).query.sql_with_params()
    return SqlPart(sql, list(params))


def count_rows(matching: SqlPart) -> SqlPart:
    return SqlPart(COUNT.format(matching=matching.sql), matching.params)


def count_few_first(matching: SqlPart) -> SqlPart:
    """Return the query that counts rows that one index can count. Of many, the first ten thousand are counted twice."""
    return SqlPart(COUNT_FEW_FIRST.format(matching=matching.sql, few_rows=FEW_ROWS), matching.params * 2)


def index_order(position: PagePosition, *, count: SqlPart, matching: SqlPart) -> SqlPart:
    sql = fill_in(INDEX_ORDER, position, count=count.sql, matching=matching.sql)
    return SqlPart(sql, [*count.params, *matching.params])


def probe_then_sort(position: PagePosition, *, count: SqlPart, in_order: SqlPart, matching: SqlPart) -> SqlPart:
    """Return the statement that walks `in_order`, the rows that match the filters on the sort column."""
    sql = fill_in(PROBE_THEN_SORT, position, count=count.sql, in_order=in_order.sql, matching=matching.sql)
    return SqlPart(sql, [*count.params, *in_order.params, *matching.params, *matching.params])


def fill_in(template: str, position: PagePosition, **queries: str) -> str:
    return template.format(
        **queries,
        direction="DESC" if position.is_descending else "ASC",
        not_after=">=" if position.is_descending else "<=",
        offset=int(position.offset),
        limit=int(position.limit),
        end=int(position.offset + position.limit),
        few_rows=FEW_ROWS,
        probe_rows=PROBE_ROWS,
    )


def read_page(statement: SqlPart) -> tuple[int, list[UUID]]:
    with connection.cursor() as cursor:
        cursor.execute(statement.sql, statement.params)
        total, ids = cursor.fetchone()
    return total, ids
