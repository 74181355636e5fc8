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

from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.db.models.expressions import Combinable

from foundation.db.compiled import Params

SQLWithParams = tuple[str, Params]

PROBE_ROWS = 2_000  # rows to walk along the list's order before what the filter's index gives is sorted
FEW_ROWS = 10_000  # rows that a single process counts faster than parallel workers, and sorts faster than it probes

COUNT = "SELECT count(*) FROM matching"

# For rows that one index can count. Of many, the first ten thousand are counted twice.
COUNT_FEW_FIRST = """
    SELECT CASE WHEN few.total <= {few_rows} THEN few.total ELSE (SELECT count(*) FROM matching) END
    FROM (SELECT count(*) AS total FROM (SELECT FROM matching LIMIT {few_rows} + 1) AS first_rows) AS few
"""

# NOT MATERIALIZED, so that PostgreSQL plans each use of `matching` by itself.
INDEX_ORDER = """
WITH matching (id, sort_key) AS NOT MATERIALIZED ({matching}),
counted (total) AS MATERIALIZED ({count}),
page AS (
    SELECT id FROM matching ORDER BY sort_key {direction}, id {direction} LIMIT {limit} OFFSET {offset}
)
SELECT total, CASE WHEN total > {offset} THEN ARRAY(SELECT id FROM page) ELSE ARRAY[]::uuid[] END
FROM counted
"""

# `probed` has the first matching rows among the next PROBE_ROWS of the list's order. If these are as many as the page
# needs, the page is among them. The comparison with `boundary` must stay a bare subquery: under row-level security,
# PostgreSQL doesn't use an expression as an index condition if evaluating it could reveal something about a row.
# In `sorted_page`, `interval '0'` keeps PostgreSQL from scanning the index of the order.
PROBE_THEN_SORT = """
WITH matching (id, sort_key) AS NOT MATERIALIZED ({matching}),
counted (total) AS MATERIALIZED ({count}),
boundary AS (
    SELECT sort_key FROM ({in_order}) AS in_order (id, sort_key)
    ORDER BY sort_key {direction} LIMIT 1 OFFSET {probe_rows}
),
probed AS MATERIALIZED (
    SELECT id, sort_key FROM matching
    WHERE sort_key {not_after} (SELECT sort_key FROM boundary)
    ORDER BY sort_key {direction}, id {direction} LIMIT {end}
),
probed_page AS (
    SELECT id FROM probed
    ORDER BY sort_key {direction}, id {direction} LIMIT {limit} OFFSET {offset}
),
sorted_page AS (
    SELECT id FROM matching
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


def select_rows(rows: QuerySet, column: str | Combinable) -> SQLWithParams:
    """Return the query of the rows' ids and sort keys, without an order."""
    sql, params = rows.order_by().values_list("id", column).query.sql_with_params()
    return sql, list(params)


def select_page(
    matching: SQLWithParams,
    ordering: str,
    offset: int,
    limit: int,
    *,
    count: SQLWithParams,
    in_order: SQLWithParams | None = None,
) -> SQLWithParams:
    """Return the query of the total and a page's ids, in the order of a column ("-" for descending; then by id).

    One index has the `matching` rows in this order, unless `in_order` has those to walk: all rows that match the
    filters on the column.
    """
    is_descending = ordering.startswith("-")
    in_order_sql, in_order_params = in_order or ("", [])
    sql = (PROBE_THEN_SORT if in_order else INDEX_ORDER).format(
        matching=matching[0],
        count=count[0].format(few_rows=FEW_ROWS),
        in_order=in_order_sql,
        direction="DESC" if is_descending else "ASC",
        not_after=">=" if is_descending else "<=",
        offset=int(offset),
        limit=int(limit),
        end=int(offset + limit),
        few_rows=FEW_ROWS,
        probe_rows=PROBE_ROWS,
    )
    return sql, [*matching[1], *count[1], *in_order_params]


def read_page(statement: SQLWithParams) -> tuple[int, list[UUID]]:
    with connection.cursor() as cursor:
        cursor.execute(*statement)
        total, ids = cursor.fetchone()
    return total, ids
